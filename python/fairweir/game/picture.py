"""Draw a decision tree as an SVG figure: one row per condition, with a leaf's action, share and proofs at the right.

Each leaf of the tree has an action of a sender, and claims that were proved or refuted. The *share* of a node is the
fraction of all decisions that reach the node. A row's indent is its depth in the tree. The thickness of a line is the
share of the node to which it leads. Colors follow the theme of the page. There is a second, narrow figure for small
screens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from fairweir.ccas.controller_file import Condition, Controller, Leaf, Split
from fairweir.game.words import condition_text
from fairweir.show.style import colour

#: Widths and lengths in CSS pixels. The widths of characters are upper estimates for the page's font of 13 px.
_CHARACTER: Final = 7.2
_BOLD: Final = 8.4
_THICKEST: Final = 7.0
_BAR: Final = 110.0


@dataclass(frozen=True)
class Mark:
    """The outcome of the claims about a leaf (``proved``, ``refuted``, ``unknown`` or ``vacuous``), and its text."""

    outcome: str
    symbol: str
    text: str


@dataclass(frozen=True)
class Row:
    """A row of the figure: one node of the tree.

    Attributes
    ----------
    node, parent : int, indices of this node and of its parent; the root's parent is -1
    text : the condition under which the parent leads to this node
    share : fraction of all decisions that reach the node
    leaf : the leaf if the node is a leaf, otherwise None
    """

    node: int
    parent: int
    depth: int
    text: str
    share: float
    leaf: Leaf | None


def rows_of(controller: Controller, visits: Mapping[int, int]) -> list[Row]:
    """Return the rows of a controller's figure. Each node is after its parent.

    Parameters
    ----------
    visits : number of decisions that reached each leaf, by the index of the leaf's node
    """
    passed = list(map(float, (visits.get(index, 0) for index in range(len(controller.nodes)))))
    for index, node in reversed(list(enumerate(controller.nodes))):
        if isinstance(node, Split):
            passed[index] = passed[node.then] + passed[node.other]
    total = passed[0] or 1.0
    rows: list[Row] = []
    waiting = [(0, -1, 0, "every decision")]
    while waiting:
        index, parent, depth, text = waiting.pop()
        node = controller.nodes[index]
        leaf = node if isinstance(node, Leaf) else None
        rows.append(Row(index, parent, depth, text, passed[index] / total, leaf))
        if isinstance(node, Split):
            for child, is_within in ((node.other, False), (node.then, True)):
                words = condition_text(Condition(node.feature, node.at_most, is_within=is_within))
                waiting.append((child, index, depth + 1, words))
    return rows


def tree_figure(rows: Sequence[Row], marks: Mapping[int, Mark], *, is_narrow: bool) -> str:
    """Return the figure as an SVG element.

    Parameters
    ----------
    rows : as `rows_of` returns them
    marks : outcome of the claims about each leaf, by the index of the leaf's node
    is_narrow : whether to place actions below their conditions, for phone screens
    """
    names = list(dict.fromkeys(row.leaf.name for row in rows if row.leaf is not None))
    layout = _Layout.narrow(rows) if is_narrow else _Layout.wide(rows, names)
    lines = [layout.line(row) for row in rows if row.parent >= 0]
    texts = [part for row in rows for part in layout.texts(row, names, marks)]
    kind = "narrow" if is_narrow else "wide"
    size = f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" width="{layout.width:.0f}"'
    label = f"Decision tree of {sum(row.leaf is not None for row in rows)} leaves; the table of leaves has the same"
    body = "\n".join([*layout.heads, *lines, *texts])
    return f'<svg class="tree {kind}" {size} role="img" aria-label="{label}">\n{body}\n</svg>'


@dataclass(frozen=True)
class _Layout:
    """Positions in the figure, in CSS pixels.

    Attributes
    ----------
    places : y of each node's row
    indents : x of the point at which the line to each node ends
    columns : x of the columns for action, bar, share and outcome; empty if these are below the condition
    """

    places: Mapping[int, float]
    indents: Mapping[int, float]
    shares: Mapping[int, float]
    columns: tuple[float, ...]
    width: float
    height: float

    @classmethod
    def wide(cls, rows: Sequence[Row], names: Sequence[str]) -> _Layout:
        places = {row.node: 40 + 25.0 * index for index, row in enumerate(rows)}
        indents = {row.node: 10 + 20.0 * row.depth for row in rows}
        action = max(indents[row.node] + 10 + _CHARACTER * len(row.text) for row in rows) + 20
        bar = action + 34 + _BOLD * max(map(len, names))
        columns = (action, bar, bar + _BAR + 62, bar + _BAR + 84)
        shares = {row.node: row.share for row in rows}
        return cls(places, indents, shares, columns, columns[-1] + 130, 40 + 25.0 * len(rows))

    @classmethod
    def narrow(cls, rows: Sequence[Row]) -> _Layout:
        places, y = {}, 16.0
        for row in rows:
            places[row.node] = y
            y += 46 if row.leaf is not None else 26
        step = min(14.0, 110.0 / max(row.depth for row in rows)) if len(rows) > 1 else 14.0
        indents = {row.node: 5 + step * row.depth for row in rows}
        ends = [
            indents[row.node]
            + 10
            + max(_CHARACTER * len(row.text), _BOLD * (len(row.leaf.name) + 9) if row.leaf else 0)
            for row in rows
        ]
        return cls(places, indents, {row.node: row.share for row in rows}, (), max(ends), y)

    @property
    def heads(self) -> list[str]:
        if not self.columns:
            return []
        action, bar, _, mark = self.columns
        return [
            f'<text class="head" x="{x:.0f}" y="14">{text}</text>'
            for x, text in ((4, "condition"), (action, "action"), (bar, "share of decisions"), (mark, "claims"))
        ]

    def line(self, row: Row) -> str:
        """Return the SVG path from a row's parent to the row."""
        x, y = self.indents[row.parent], self.places[row.node]
        wide = max(1.0, _THICKEST * row.share)
        path = f"M{x:.1f} {self.places[row.parent] + 8:.1f}V{y:.1f}H{self.indents[row.node] + 6:.1f}"
        return f'<path d="{path}" stroke-width="{wide:.1f}"/>'

    def texts(self, row: Row, names: Sequence[str], marks: Mapping[int, Mark]) -> list[str]:
        """Return the SVG texts of a row: condition, and for a leaf the action, share and outcome."""
        x, y = self.indents[row.node] + 10, self.places[row.node] + 4.5
        percent = escape(share_text(row.share))
        found = [f'<text x="{x:.1f}" y="{y:.1f}">{escape(row.text)}</text>']
        mark = marks.get(row.node)
        words = "" if mark is None else f'<tspan class="{mark.outcome}">{mark.symbol}</tspan> {escape(mark.text)}'
        if row.leaf is None:
            if self.columns:
                _, bar, share, _ = self.columns
                found += [_bar(bar, y, row.share, "var(--rule)"), _share(share, y, percent, "soft")]
            return found
        ink, name = colour(names.index(row.leaf.name)), escape(row.leaf.name)
        if self.columns:
            action, bar, share, last = self.columns
            found.append(_action(action, y, ink, f'<tspan class="name">{name}</tspan>'))
            found += [_bar(bar, y, row.share, ink), _share(share, y, percent, "")]
            found.append(f'<text x="{last:.1f}" y="{y:.1f}">{words}</text>')
        else:
            symbol = "" if mark is None else f' <tspan class="{mark.outcome}">{mark.symbol}</tspan>'
            soft = f'<tspan class="soft">{percent}</tspan>'
            found.append(_action(x, y + 19, ink, f'<tspan class="name">{name}</tspan> {soft}{symbol}'))
        return found


def share_text(share: float) -> str:
    """Return a share in percent. A share of exactly 0 differs in the text from a very small share."""
    return "0 %" if share == 0 else f"{100 * share:.1f} %" if share >= 0.0005 else "< 0.1 %"


def _action(x: float, y: float, ink: str, words: str) -> str:
    square = f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="11" height="11" rx="2" fill="{ink}"/>'
    return f'{square}<text x="{x + 17:.1f}" y="{y:.1f}">{words}</text>'


def _bar(x: float, y: float, share: float, ink: str) -> str:
    length = max(_BAR * share, 0.8)
    return f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="{length:.1f}" height="9" fill="{ink}"/>'


def _share(x: float, y: float, percent: str, kind: str) -> str:
    return f'<text class="number {kind}" x="{x:.1f}" y="{y:.1f}">{percent}</text>'
