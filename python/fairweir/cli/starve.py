"""``fairweir starve``: construct and run a network in which a flow of a CCA starves."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.progress import meter
from fairweir.cli.values import read as read_value
from fairweir.cli.values import read_range
from fairweir.documents.filenames import slug
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.outcome import Outcome
from fairweir.play.batch import Archive
from fairweir.starvation.certificate import read, write
from fairweir.starvation.certify import NoCertificateError, certify, summary
from fairweir.starvation.check import check as verify
from fairweir.starvation.construction import starve as construct
from fairweir.starvation.question import Question
from fairweir.starvation.replay import replay as play_again
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairweir.starvation.result import Pair, Starvation

CLAIM_FAILS = 1
#: Minimum jitter and rtprop: scenario files have delays in whole microseconds.
SHORTEST = Duration.from_us(1)


def starve(
    cca: Annotated[
        str,
        typer.Argument(metavar="CCA", help="vegas, vegas{alpha=4}, mine.py:Class, mine.bpf.c, rule.toml or tree.json."),
    ] = "",
    *,
    ratio: Annotated[float, typer.Option(min=1.1, help="Target throughput ratio.")] = 10.0,
    jitter: Annotated[str | None, typer.Option(help="Maximum jitter D, such as 1ms; default: one rtprop.")] = None,
    rate_range: Annotated[str, typer.Option(metavar="LO..HI", help="Link rates to scan.")] = "1Mbps..1Gbps",
    rtprop: Annotated[str, typer.Option(help="Rtprop of both flows.")] = "40ms",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Store scenarios and runs here; finished runs found here are reused. Default: results/starve/CCA.",
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Plot the rate-delay curve (PNG).")] = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check a certificate instead: exit 0 if it is valid, 1 if it is not."),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="With --check: also run each flow alone again, and compare every packet.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Construct jitter that starves a flow of CCA (starvation paper, theorem 1), and simulate it with several seeds.

    The claim is that jitter of at most D starves no flow.

    Exit 0: not refuted: the construction needs more jitter, does not apply (not delay-convergent), or is inconclusive.
    Exit 1: the claim fails: a flow starves.
    Exit 2: bad input, or the command could not run.
    Exit 130: interrupted; the same command resumes.
    """
    if check is not None:
        check_file(check, replays=replay, as_json=as_json)
        return
    if not cca:
        raise ConfigError("no CCA was given", hint="write `fairweir starve vegas`, or `--check FILE`", key="CCA")
    lowest, highest = read_range(rate_range, "--rate-range", Rate.parse, hint='write "1Mbps..1Gbps"')
    question = Question(
        cca=cca,
        ratio=ratio,
        jitter=None if jitter is None else _jitter(jitter, "--jitter"),
        lowest=lowest,
        highest=highest,
        rtprop=_jitter(rtprop, "--rtprop"),
    )
    if plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
    directory = out or results_folder("starve", cca)
    with meter(cca, kept_in=directory) as report:

        def on_progress(what: str, part: float) -> None:
            report(f"{cca}: {what}", part)

        result = construct(
            question, archive=Archive(directory), workers=where(workers, cluster), on_progress=on_progress
        )
        if result.pair is not None and result.pair.d_ms <= question.d.ms:
            result = _with_certificate(result, result.pair, question, directory, on_progress)
    written = result.save(directory)
    if plot is not None:
        from fairweir.show.plots import save_figure
        from fairweir.starvation.picture import rate_delay

        save_figure(rate_delay([(result.cca, result.points)]), plot / "rate-delay.png")
    if as_json:
        output.print_json(result.model_dump(mode="json"))
    else:
        show(result)
    if result.certificate is not None:
        output.stderr.print(f"fairweir starve --check {result.certificate.file}", markup=False, soft_wrap=True)
    for path in written:
        output.stderr.print(f"fairweir run {path}", markup=False, soft_wrap=True)
    if result.word == "starves":
        raise typer.Exit(CLAIM_FAILS)


def _with_certificate(
    result: Starvation, pair: Pair, question: Question, directory: Path, on_progress: Callable[[str, float], object]
) -> Starvation:
    """Write a certificate, if one can be made, and record the certificate or the reason in the result."""
    try:
        certificate = certify(question, pair, on_progress)
    except (NoCertificateError, FairweirError) as reason:
        return result.model_copy(update={"no_certificate": str(reason)})
    path = write(certificate, directory / f"{slug(result.cca)}-certificate.parquet")
    return result.model_copy(update={"certificate": summary(certificate, path)})


def check_file(path: Path, *, replays: bool, as_json: bool) -> None:
    """Check a certificate, and print the outcome of each check.

    Raises
    ------
    ConfigError : the file is not a certificate
    typer.Exit : with 1, a check fails
    """
    certificate = read(path)
    findings = verify(certificate)
    if replays:
        with output.progress_bar(counts=False) as bar:
            task = bar.add_task(certificate.header.cca, total=1.0)
            findings += play_again(certificate, lambda what, part: bar.update(task, description=what, completed=part))
    holds = all(finding.is_true for finding in findings)
    if as_json:
        shown = [asdict(finding) for finding in findings]
        output.print_json({"file": str(path), "cca": certificate.header.cca, "holds": holds, "findings": shown})
    else:
        table = Table("", "condition", "found", box=None, header_style="bold")
        for finding in findings:
            outcome = Outcome.HOLDS if finding.is_true else Outcome.FAILS
            table.add_row(outcome.symbol, finding.name, finding.text)
        output.stdout.print(table)
    if not holds:
        raise typer.Exit(CLAIM_FAILS)


def _jitter(text: str, key: str) -> Duration:
    """Parse a delay of at least :data:`SHORTEST`."""
    delay = read_value(text, key, Duration.parse)
    if delay < SHORTEST:
        raise ConfigError(f"must be at least {SHORTEST}: `{text}`", hint='write "1ms"', key=key)
    return delay


def show(result: Starvation) -> None:
    """Print the scan and the verdict."""
    scan = Table("link Mbit/s", box=None, header_style="bold")
    for heading in ("throughput Mbit/s", "d_min ms", "d_max ms", "delta ms", "converges"):
        scan.add_column(heading, justify="right")
    for point in result.points:
        cells = point.throughput_mbps, point.dmin_ms, point.dmax_ms, point.delta_ms
        texts = ["-"] * len(cells) if point.fault else [f"{cell:.4g}" for cell in cells]
        scan.add_row(f"{point.rate_mbps:g}", *texts, "yes" if point.settles else "no")
    verdict = Table("what", "value", box=None, header_style="bold")
    if result.delta_max_ms is not None and result.efficiency is not None:
        verdict.add_row(
            "delta_max", f"{result.delta_max_ms:.3g} ms (theorem 1: any D > {2 * result.delta_max_ms:.3g} ms)"
        )
        verdict.add_row("f", f"{result.efficiency:.3g}")
    if result.pair is not None:
        pair = result.pair
        verdict.add_row(
            "smallest D", f"{pair.d_ms:.3g} ms, {pair.slow_mbps:g} and {pair.fast_mbps:g} Mbit/s are indistinguishable"
        )
    if result.confirmation is not None:
        verdict.add_row("simulated", result.why)
        verdict.add_row("clipped to [0, D]", f"at most {max(result.confirmation.violations)} packets after the warm-up")
    if result.certificate is not None:
        made = result.certificate
        queue = f", {made.backlog_ms:.3g} ms initially queued" if made.backlog_ms else ""
        verdict.add_row(
            "certificate",
            f"{made.file}: D = {made.d_ms:.3g} ms and ratio {made.ratio:.3g} on {made.link_mbps:.4g} Mbit/s{queue}, "
            f"{made.packets} packets in {made.span_s:.3g} s",
        )
    elif result.no_certificate:
        verdict.add_row("certificate", f"none: {result.no_certificate}")
    if result.underuse is not None:
        under = result.underuse
        verdict.add_row(
            "theorem 2",
            f"{under.utilization:.2%} of {under.link_mbps:g} Mbit/s used with D = {under.d_ms:.3g} ms",
        )
    if result.hunt is not None:
        largest = result.hunt.largest_ratio
        reported = "" if largest is None else f"; maximum ratio on its grid, with one seed, {largest:.3g}"
        spent = "; the hunt's budget was exhausted" if result.hunt.budget_exhausted else ""
        verdict.add_row("hunt", f"{result.hunt.text}{reported}{spent}")
    output.stdout.print(scan)
    output.stdout.print()
    output.stdout.print(verdict)
    output.stdout.print()
    output.stdout.print(
        f"{result.verdict.symbol} {result.cca}: {result.word} ({result.why})", markup=False, soft_wrap=True
    )
