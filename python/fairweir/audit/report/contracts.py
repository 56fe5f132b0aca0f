"""Figures of empirical contracts: each flow's rate against its observed congestion, with the fitted function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairweir.show import formats, style
from fairweir.show.figure import Figure, Table, linear_range, log_ticks, rounded, slug

if TYPE_CHECKING:
    from fairweir.contracts.result import ContractResult


def contract_figure(result: ContractResult) -> Figure | None:
    """Draw each flow of each run as a point, and the best fit as a line.

    Returns
    -------
    Figure ; None if there are no points, or no common statistic
    """
    statistic = result.best.statistic if result.best else "mean_qdelay_ms"
    output = result.best.output if result.best else "rate"
    points = [p for p in result.points if p.statistic(statistic) > 0 and p.output(output) > 0]
    if not points:
        return None
    data: list[dict[str, Any]] = []
    for i, capacity in enumerate(sorted({p.capacity_mbps for p in points})):
        here = [p for p in points if p.capacity_mbps == capacity]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{capacity:g} Mbps",
                "x": rounded(p.statistic(statistic) for p in here),
                "y": rounded(p.output(output) for p in here),
                "marker": {"color": style.colour(i), "symbol": style.marker(i), "size": 6, "opacity": 0.75},
                "customdata": [[p.flows, p.rtprop_ms, p.seed] for p in here],
                "hovertemplate": f"{capacity:g} Mbps, %{{customdata[0]}} flows, rtprop %{{customdata[1]}} ms,"
                " seed %{customdata[2]}<br>%{x:.4g} → %{y:.4g}<extra></extra>",
            }
        )
    if result.curve:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "fit" if result.has_contract else "closest fit",
                "x": rounded(x for x, _ in result.curve),
                "y": rounded(y for _, y in result.curve),
                "line": {"color": "#888888", "width": 2.5, "dash": "solid" if result.has_contract else "dash"},
                "hovertemplate": "fit: %{x:.4g} → %{y:.4g}<extra></extra>",
            }
        )
    xs, ys = [p.statistic(statistic) for p in points], [p.output(output) for p in points]
    return Figure(
        id=slug("fig-contract", result.cca),
        title=f"{result.cca}: {result.text if result.has_contract else 'no contract'}",
        data=data,
        layout={
            "xaxis": _axis(xs) | {"title": {"text": style.axis_label(statistic)}},
            "yaxis": _axis(ys) | {"title": {"text": style.axis_label(output)}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        },
        caption=_caption(result),
        height=400,
        table=_candidates(result),
    )


def _axis(values: list[float]) -> dict[str, Any]:
    """Return an axis: logarithmic, like the fits, or linear if all values are within a factor of 1.5."""
    if max(values) > 1.5 * min(values):
        return log_ticks(values)
    return {"range": linear_range(values)}


def _caption(result: ContractResult) -> str:
    parts = [_sentence(result.reason)] if result.reason else []
    if result.exponent is not None:
        e = result.exponent
        parts.append(f"Exponent ({result.exponent_of}) {formats.estimate(e.value, e.lo, e.hi)}.")
    if result.best is not None and "R²" not in result.reason:
        parts.append(f"R² {formats.number(result.best.r_squared)}.")
    if result.flags:
        parts.append(_sentence("; ".join(result.flags)))
    return " ".join(parts)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _candidates(result: ContractResult) -> Table | None:
    if not result.candidates:
        return None
    rows = tuple(
        (
            f"{c.output} of {style.axis_label(c.statistic)}: {c.formula}",
            ", ".join(f"{name} = {formats.number(value)}" for name, value in c.parameters.items()),
            formats.number(c.r_squared),
            formats.number(c.bic),
            formats.number(c.capacity_rmse),
        )
        for c in result.candidates
    )
    return Table(("shape", "parameters", "R²", "BIC", "error at link rates not fitted (ln)"), rows)
