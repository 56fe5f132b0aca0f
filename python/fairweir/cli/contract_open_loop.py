"""``fairweir contract --open-loop``: what CCAs and action maps ask for, with what they see held."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from fairweir import _core
from fairweir.cca import is_python
from fairweir.cli.progress import meter
from fairweir.contracts.action_map import Held, HeldStatistic, crossings, load_action
from fairweir.dumbbell import cca_name
from fairweir.errors import ConfigError
from fairweir.quantities import parse_fraction

if TYPE_CHECKING:
    from fairweir.contracts.result import ContractResult
    from fairweir.dumbbell import Cca
    from fairweir.worlds import Archive

EXAMPLE = "qdelay=2ms..50ms or loss=0.01%..1%"
NS_PER_MS = 1e6
PARTS_PER_WHOLE = float(parse_fraction("100%"))
NAMES: dict[str, HeldStatistic] = dict(zip(("qdelay", "loss"), get_args(HeldStatistic), strict=True))


def read_held(text: str) -> Held:
    """Read what is held: ``qdelay=LOW..HIGH`` in times, or ``loss=LOW..HIGH`` in fractions.

    Raises
    ------
    ConfigError : anything else
    """
    name, _, span = text.partition("=")
    low, dots, high = span.partition("..")
    if name not in NAMES or not dots:
        raise ConfigError(f"nothing to hold: `{text}`", key="--held", hint=EXAMPLE)
    try:
        least, most = _value(name, low), _value(name, high)
    except ConfigError as error:
        raise ConfigError(error.message, key="--held", hint=error.hint or EXAMPLE) from error
    if not 0.0 < least < most:
        raise ConfigError(f"not a range from low to high: `{span}`", key="--held", hint=f"positive, as {EXAMPLE}")
    return Held(NAMES[name], least, most)


def _value(name: str, text: str) -> float:
    return parse_fraction(text) / PARTS_PER_WHOLE if name == "loss" else _core.parse_time(text) / NS_PER_MS


def derive_held(cca: Cca, held: Held, archive: Archive, workers: int | None) -> ContractResult:
    """Derive a contract with `held` held: of a function by its zero crossings, of a CCA by where it rests."""
    from fairweir.contracts.open_loop import held_contract, of_map

    name = cca_name(cca)
    action = load_action(name) if is_python(name) else None
    if action is not None:
        return of_map(name, held, crossings(action, held))
    what = f"{name}: {'loss' if held.statistic == 'loss_rate' else 'qdelay'} held"
    with meter(what, kept_in=archive.directory, counts=True) as report:
        return held_contract(cca, held, archive, workers=workers, on_run=report.count)
