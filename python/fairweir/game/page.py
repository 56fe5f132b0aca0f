"""Write ``report.html`` of a synthesis: the decision tree, its proofs, its comparison with the search, and its origin.

A *synthesis* fits decision trees of a sender to the decisions of a search in many *situations*, chooses a tree, and
tries to prove claims about each leaf of the tree.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from fairweir import __version__
from fairweir.ccas.controller_file import Controller
from fairweir.documents.atomic_write import write_text
from fairweir.game.claims import SORTS
from fairweir.game.export import controller_text
from fairweir.game.picture import Mark, rows_of, share_text, tree_figure
from fairweir.game.proofs import LeafVerdict
from fairweir.game.synthesis import QUANTITIES, Synthesis
from fairweir.game.words import path_texts
from fairweir.judging.outcome import Outcome as Standing
from fairweir.show import formats
from fairweir.show.figure import Figure, rounded
from fairweir.show.page import render_page
from fairweir.show.style import colour, marker
from fairweir.show.word import Word

#: The verdict that the page shows for each outcome of a proof.
WORDS: Final = {
    "proved": Word(Standing.HOLDS),
    "refuted": Word(Standing.FAILS),
    "unknown": Word(Standing.UNKNOWN),
    "vacuous": Word(Standing.UNKNOWN),
}
#: Descriptions of the sources of situations, by the first letters of the source's name.
SOURCES: Final = {
    "search": "closed loops of the search with occasional random actions",
    "random": "random situations of the whole model",
    "round": "closed loops of the tree fitted to all labels so far (dataset aggregation)",
    "held": "separate sessions, used for zero regret only",
}


@dataclass(frozen=True)
class Score:
    """A number at the top of the page, with a description and a verdict on it."""

    value: str
    words: str
    word: Word


@dataclass(frozen=True)
class LeafRow:
    """A row of the table of leaves: for each claim about a leaf, the verdict's symbol, outcome and reason."""

    node: int
    name: str
    conditions: str
    share: str
    claims: Sequence[tuple[Word, str, str]]


def write_page(found: Synthesis, path: Path) -> Path:
    """Write the page to a file. If the program is interrupted, there is no partial file."""
    write_text(path, render(found, path.parent))
    return path


def render(found: Synthesis, directory: Path) -> str:
    """Return the page as HTML. The same synthesis always gives the same text.

    Parameters
    ----------
    directory : Path of the directory of the controller's file, for the commands that the page shows
    """
    controller = Controller.parse(controller_text(found.document))
    rows = rows_of(controller, found.visits)
    marks = {index: _mark([one for one in found.verdicts if one.leaf == index]) for index, _, _ in controller.leaves}
    query = found.query
    return render_page(
        "synthesis.html.j2",
        package="fairweir.game",
        name=query.name,
        outcome=_outcome(found.verdicts),
        scores=_scores(found),
        facts=str(query.document.get("description", "")),
        step=query.document["step"],
        decisions=formats.count(sum(found.visits.values())),
        wide=Markup(tree_figure(rows, marks, is_narrow=False)),  # noqa: S704 - its text is escaped there
        narrow=Markup(tree_figure(rows, marks, is_narrow=True)),  # noqa: S704 - its text is escaped there
        claims=list(dict.fromkeys(one.claim.text for one in found.verdicts)),
        leaves=_leaves(found, controller),
        meanings=[(name, SORTS[name].meaning) for name in dict.fromkeys(one.claim.name for one in found.verdicts)],
        trials=query.trees.trials,
        judged=_judged(found),
        figure=_figure(found),
        figures=[_figure(found)],
        candidate_head=("Tree", "Leaves", "Zero regret", *_ratio_names(found), "Queue, steps", "Merit"),
        candidates=[_candidate(found, one) for one in found.candidates],
        chosen=found.candidates.index(found.chosen),
        labels=[
            (name, formats.count(count), next(words for key, words in SOURCES.items() if name.startswith(key)))
            for name, count in found.labelled.items()
        ],
        actions=_actions(query.document),
        objective=[(phase, _objective(query.document, phase)) for phase in ("searching", "converged")],
        depth=query.document["depth"],
        command=f"fairweir synth {shlex.quote(str(query.source))} --out {shlex.quote(str(directory))}",
        controller=shlex.quote(str(directory / "controller.json")),
        is_video=query.kind == "video",
        version=__version__,
    )


def _outcome(verdicts: Sequence[LeafVerdict]) -> Word:
    outcomes = {one.outcome.value for one in verdicts}
    return WORDS["refuted" if "refuted" in outcomes else "proved" if outcomes == {"proved"} else "unknown"]


def _mark(verdicts: Sequence[LeafVerdict]) -> Mark:
    outcomes = [one.outcome.value for one in verdicts]
    proved, word = outcomes.count("proved"), _outcome(verdicts)
    text = f"all {proved} proved" if proved == len(outcomes) else f"{proved} of {len(outcomes)} proved"
    return Mark(word.word, word.symbol, text)


def _scores(found: Synthesis) -> list[Score]:
    proved, claims = found.outcomes.get("proved", 0), len(found.verdicts)
    info = Word(Standing.INFO)
    ratios = [Score(_percent(getattr(found.closed, key)), f"of the search's {key}", info) for key in _ratios(found)]
    return [
        Score(f"{proved} of {claims}", "claims of leaves proved", _outcome(found.verdicts)),
        Score(_percent(found.chosen.free), "of held-out decisions without regret", info),
        *ratios,
    ]


def _ratios(found: Synthesis) -> list[str]:
    return ["goodput", "frames"] if found.query.kind == "video" else ["goodput"]


def _ratio_names(found: Synthesis) -> list[str]:
    return [f"{key.capitalize()} / search" for key in _ratios(found)]


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _leaves(found: Synthesis, controller: Controller) -> list[LeafRow]:
    total = sum(found.visits.values()) or 1
    rows = []
    for index, leaf, path in controller.leaves:
        judged = [
            (WORDS[one.outcome.value], one.outcome.value, one.reason) for one in found.verdicts if one.leaf == index
        ]
        share = share_text(found.visits.get(index, 0) / total)
        rows.append(LeafRow(index, leaf.name, "; ".join(path_texts(path)) or "always", share, judged))
    return rows


def _judged(found: Synthesis) -> list[tuple[str, ...]]:
    tree, search = found.judged.document(), found.search.document()
    rows = []
    for key, words in QUANTITIES.items():
        if key == "frames" and found.query.kind != "video":
            continue
        cells = [
            cell
            for side in (tree[key], search[key])
            for cell in (f"{side['mean']:.3f}", f"{side['lo']:.3f} to {side['hi']:.3f}")
        ]
        rows.append((words, *cells, _percent(getattr(found.closed, key)) if key in _ratios(found) else ""))
    return rows


def _candidate(found: Synthesis, one: Any) -> tuple[str, ...]:
    ratios = [_percent(getattr(one.closed, key)) for key in _ratios(found)]
    name = f"{one.name} (chosen)" if one is found.chosen else one.name
    return (name, str(one.tree.leaves), _percent(one.free), *ratios, f"{one.closed.queue:+.3f}", f"{one.merit:.3f}")


def _figure(found: Synthesis) -> Figure:
    """Draw the results of all fitted trees over their numbers of leaves: agreement with the search, and goodput."""
    curves = [("zero regret", [one.free for one in found.candidates])]
    curves += [(f"{key} / search", [getattr(one.closed, key) for one in found.candidates]) for key in _ratios(found)]
    xs = [one.tree.leaves for one in found.candidates]
    data: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "markers", "name": name, "x": xs, "y": rounded(100 * y for y in ys),
            "marker": {"color": colour(i), "symbol": marker(i), "size": 9},
            "customdata": [one.name for one in found.candidates],
            "hovertemplate": f"{name}, %{{customdata}}: %{{y:.1f}} %<extra></extra>",
        }
        for i, (name, ys) in enumerate(curves)
    ]  # fmt: skip
    leaves = found.chosen.tree.leaves
    chosen = {"type": "line", "xref": "x", "x0": leaves, "x1": leaves, "yref": "paper", "y0": 0, "y1": 1}
    return Figure(
        id="candidates-by-leaves",
        title="Results of larger trees",
        caption=f"Vertical line: the chosen tree, {leaves} leaves.",
        data=data,
        layout={
            "xaxis": {"title": {"text": "leaves"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": "%"}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "shapes": [{**chosen, "line": {"color": "#888888", "width": 1, "dash": "dot"}, "layer": "below"}],
        },
        is_wide=True,
    )


def _actions(document: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            one["name"], one.get("send", "none"), one.get("rate", "the message"), one.get("encode", "nothing"),
            one.get("why", ""),
        )
        for one in document["actions"]
    ]  # fmt: skip


def _objective(document: dict[str, Any], phase: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in document["objective"].get(phase, []):
        terms = " + ".join(f"{factor:g} {name}" for name, factor in one["terms"].items()).replace("+ -", "- ")
        rows.append((one["name"], terms, f"{one['quantum']:g}", one.get("why", "")))
    return rows
