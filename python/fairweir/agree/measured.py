"""The values of a run that the comparison of simulator and kernel uses, and a file with those of kernel runs.

Kernel runs of a design take hours and need root. A file of their values lets anybody compare the simulator with them
again, in minutes and without root. Each line of the file is the JSON of one run (JSON Lines).
"""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from fairweir.documents.atomic_write import write_text
from fairweir.documents.store import fingerprint
from fairweir.errors import ConfigError
from fairweir.judging.summary import Summary
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import flow_ids

#: Size of the largest file that is read, bytes: some 100 000 runs.
MAX_BYTES = 64 * 1024 * 1024
#: Largest number that a file may have, so that sums of squares are finite and numbers of packets exact.
MAX_NUMBER: Final = 1 << 53
#: Largest time that both hosts take in a round trip, us: the emulator counts answers within 2 ms.
MAX_HOSTS_US: Final = 4_000
#: Longest stall of a host, us, and number of seconds of a run; kernel runs take at most an hour.
MAX_STALL_US: Final = 1_000_000_000
MAX_SECONDS: Final = 86_400
#: Characters of the longest text that a scenario does not set, and of the part of other texts that an error shows.
MAX_TEXT: Final = 1_000


class MeasuredFlow(BaseModel):
    """The values of a flow, which exclude the warm-up.

    Attributes
    ----------
    id : str
    throughput_mbps : float, Mbit/s
    mean_rtt_ms : float, ms; None without RTT samples
    lost_pkts, delivered_pkts : int
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str = Field(min_length=1)
    throughput_mbps: FiniteFloat = Field(ge=0, le=MAX_NUMBER)
    mean_rtt_ms: FiniteFloat | None = Field(ge=0, le=MAX_NUMBER)
    lost_pkts: int = Field(ge=0, le=MAX_NUMBER)
    delivered_pkts: int = Field(ge=0, le=MAX_NUMBER)


class Measured(BaseModel):
    """The values of a run.

    Attributes
    ----------
    flows : list of MeasuredFlow, in the scenario's order
    release_p99_us : float, us; 99th percentile of the lateness of the emulator's packets; None for a simulated run
    hosts_us : float, us; mean time that both hosts of a flow together take in each round trip; None if it was not
        measured
    stalls_us : list of float, us; the longest lateness in each second of the run
        (:class:`fairweir.judging.summary.Emulator`); empty if it was not measured
    not_judged : str; why the emulator was too late for the run to count, else empty
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    flows: list[MeasuredFlow] = Field(min_length=1)
    release_p99_us: FiniteFloat | None = Field(default=None, ge=-MAX_NUMBER, le=MAX_NUMBER)
    hosts_us: FiniteFloat | None = Field(default=None, ge=0, le=MAX_HOSTS_US)
    stalls_us: list[Annotated[FiniteFloat, Field(ge=0, le=MAX_STALL_US)]] = Field(default=[], max_length=MAX_SECONDS)
    not_judged: str = Field(default="", max_length=MAX_TEXT)

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return the values of a run."""
        emulator = summary.emulator
        return cls(
            flows=[
                MeasuredFlow(
                    id=flow.id,
                    throughput_mbps=flow.throughput_mbps,
                    mean_rtt_ms=flow.rtt_ms.mean,
                    lost_pkts=flow.lost_pkts,
                    delivered_pkts=flow.delivered_pkts,
                )
                for flow in summary.flows
            ],
            release_p99_us=None if emulator is None else emulator.release_error_us.p99,
            hosts_us=None if emulator is None else emulator.host_us.round_trip_us,
            stalls_us=[] if emulator is None else [round(us, 1) for us in emulator.stalls_us],
            not_judged="" if emulator is None or emulator.judged else emulator.reason,
        )


class _Line(BaseModel):
    """A line of the file.

    Attributes
    ----------
    cell : str, name of the scenario
    scenario : str, the hash of the scenario (:func:`hash_of`)
    seed : int, seed of the run, which determines the starts of flows and the random elements of the path
    kernel : str, the kernel's release
    run : Measured
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    cell: str
    scenario: str = Field(max_length=MAX_TEXT)
    seed: int
    kernel: str = Field(max_length=MAX_TEXT)
    run: Measured


@dataclass(frozen=True)
class KernelRuns:
    """Kernel runs of some scenarios.

    Attributes
    ----------
    lines : the runs; a seed occurs once for each scenario
    source : str, the file from which they were read
    """

    lines: Sequence[_Line]
    source: str = ""

    @classmethod
    def of(cls, runs: Iterable[tuple[Scenario, int, Summary]]) -> Self:
        """Return runs of this machine's kernel: the scenario, the seed and the summary of each.

        A scenario that occurs twice, such as with ``--ccas reno,reno``, ran once.
        """
        lines = [
            _Line(
                cell=scenario.name,
                scenario=hash_of(scenario),
                seed=seed,
                kernel=platform.release(),
                run=Measured.of(summary),
            )
            for scenario, seed, summary in runs
        ]
        return cls(list({(line.scenario, line.seed): line for line in lines}.values()))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file.

        Raises
        ------
        ConfigError : the file cannot be read, is too large or empty, a line is not the JSON of a run, or a run
            occurs twice
        """
        try:
            # A FIFO without a writer would be waited for without end.
            if path.is_fifo():
                raise ConfigError("not a file", source=str(path))
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ConfigError(f"cannot read: {error.strerror}", source=str(path)) from None
        if len(content) > MAX_BYTES:
            raise ConfigError("the file is too large", source=str(path), hint=f"at most {MAX_BYTES} bytes")
        lines: list[_Line] = []
        seen: dict[tuple[str, int], int] = {}
        for i, text in enumerate(io.BytesIO(content), start=1):
            line = _parse(text, f"line {i}", path)
            first = seen.setdefault((line.scenario, line.seed), i)
            if first != i:
                raise ConfigError(
                    f"line {i} has the same scenario and seed as line {first}: `{line.seed}`",
                    source=str(path),
                    key="seed",
                    hint="each seed counts as one run: remove one of the lines",
                )
            lines.append(line)
        if not lines:
            raise ConfigError("the file is empty", source=str(path), hint=_HINT)
        return cls(lines, str(path))

    def write(self, path: Path) -> Path:
        """Write the runs to a file, completely or not at all."""
        return write_text(path, "".join(f"{line.model_dump_json()}\n" for line in self.lines))

    def find(self, scenario: Scenario, seeds: Iterable[int]) -> list[Measured]:
        """Return the runs of a scenario with these seeds.

        Raises
        ------
        ConfigError : a run has another name than the scenario, or other flows
        """
        wanted = set(seeds)
        numbered = [(i, line) for i, line in self._by_scenario.get(hash_of(scenario), ()) if line.seed in wanted]
        expected = [one for ids in flow_ids(scenario.flow) for one in ids]
        for i, line in numbered:
            if line.cell != scenario.name:
                raise ConfigError(
                    f"line {i} has the scenario of `{scenario.name}`, but the name `{line.cell[:MAX_TEXT]}`",
                    source=self.source,
                    key="cell",
                )
            found = [flow.id for flow in line.run.flows]
            if found != expected:
                raise ConfigError(
                    f"line {i} has other flows than `{scenario.name}`: `{', '.join(found)[:MAX_TEXT]}`",
                    source=self.source,
                    key="run.flows",
                    hint=f"the flows of the scenario are {', '.join(expected)}",
                )
        return [line.run for _, line in numbered]

    @cached_property
    def _by_scenario(self) -> Mapping[str, Sequence[tuple[int, _Line]]]:
        """The lines with their numbers, by the hash of the scenario."""
        found: dict[str, list[tuple[int, _Line]]] = {}
        for i, line in enumerate(self.lines, start=1):
            found.setdefault(line.scenario, []).append((i, line))
        return found

    @property
    def kernels(self) -> list[str]:
        """The releases of the kernels on which the runs were measured."""
        return sorted({line.kernel for line in self.lines})


_HINT: Final = "`fairweir agree --cells N --out DIR` writes DIR/kernel-runs.jsonl"


def _parse(text: bytes, where: str, path: Path) -> _Line:
    try:
        return _Line.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"{where} is not a kernel run: {first['msg']}",
            source=str(path),
            key=".".join(map(str, first["loc"]))[:MAX_TEXT] or None,
            hint=_HINT,
        ) from None


def hash_of(scenario: Scenario) -> str:
    """Return the hash of what a scenario sets; defaults do not count, so that new keys do not change it."""
    return fingerprint(json.loads(scenario.model_dump_json(exclude_unset=True)))
