"""``fairweir audit --all``: audits of many CCAs, resumed after an interruption, and the page that ranks them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairweir.audit import each
from fairweir.audit.each import audit_each, built_in, report_of
from fairweir.audit.profile import PROPERTIES
from fairweir.audit.report.leaderboard import html, leaderboard_of, markdown
from fairweir.audit.results import AuditResults
from fairweir.audit.runner import run_audit
from fairweir.ccas.lookup import algorithms
from fairweir.cli.main import main
from fairweir.judging.outcome import Outcome

ROOT = Path(__file__).parents[2]
FAMILY = ["ideal-rate"]


def audited(folder: Path, *ccas: str, **changes: Any) -> list[AuditResults]:
    return audit_each(ccas, folder, **{"depth": "quick", "only": FAMILY, "seeds": 2, **changes})


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the CCAs whose audits start; that of ``vegas`` is interrupted the first time."""
    found: list[str] = []
    unchanged: Callable[..., AuditResults] = run_audit

    def run(cca: str, **others: Any) -> AuditResults:
        found.append(cca)
        if found.count("vegas") == 1 and cca == "vegas":
            raise KeyboardInterrupt
        return unchanged(cca, **others)

    monkeypatch.setattr(each, "run_audit", run)
    return found


def test_an_interrupted_audit_of_many_is_resumed(tmp_path: Path, started: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt, match="1 of 3 audits are stored"):
        audited(tmp_path, "reno", "vegas", "copa")
    found = audited(tmp_path, "reno", "vegas", "copa")
    assert started == ["reno", "vegas", "vegas", "copa"]
    assert [one.ccas[0].cca for one in found] == ["reno", "vegas", "copa"]
    assert all(report_of(tmp_path, cca).is_file() for cca in ("reno", "vegas", "copa"))
    # A damaged file and other options are not reused.
    next((tmp_path / each.FINISHED).iterdir()).write_text("{")
    audited(tmp_path, "reno", "vegas", "copa")
    assert len(started) == 5
    audited(tmp_path, "reno", seeds=3)
    assert started[5:] == ["reno"]


def test_a_changed_class_is_audited_again(tmp_path: Path, started: list[str]) -> None:
    source = tmp_path / "mine.py"
    source.write_text("import fairweir\nclass Mine(fairweir.Cca):\n    def on_ack(self, ack):\n        pass\n")
    name = f"{source}:Mine"
    audited(tmp_path / "out", name)
    source.write_text(source.read_text().replace("pass", "self.cwnd_bytes += 1"))
    audited(tmp_path / "out", name)
    audited(tmp_path / "out", name)
    assert started == [name, name]


def test_the_page_ranks_and_links(tmp_path: Path) -> None:
    ccas = ["reno", "quinn/cubic", "bbr"]
    audits = audited(tmp_path, *ccas)
    audits[2].ccas[0].exhibits[0].verdict = Outcome.FAILS
    reports = [report_of(tmp_path, cca) for cca in ccas]
    board = leaderboard_of(audits, tmp_path / "pages" / "x.html", reports, "fairweir audit --all <b>")
    # The CCA with a failing claim is last, in any order of the audits.
    assert board.rows[-1].cca == "bbr"
    assert [row.report for row in board.rows if row.cca == "quinn/cubic"] == ["../quinn-cubic/report.html"]
    assert [one.name for one in board.properties] == ["fair shares", "utilization"]
    ranks = [row.cells[0].rank for row in board.rows]
    assert all(rank is not None and 1 <= rank <= 3 for rank in ranks)
    assert 1 in ranks
    page, text = html(board), markdown(board)
    assert "<b>" not in page
    assert 'href="../quinn-cubic/report.html"' in page
    assert page == html(board)
    assert not re.search(r"20\d\d-\d\d|report\.html", text)
    # In Markdown, an empty line would end the table's HTML.
    table = text[text.index("<div") : text.index("</div>")]
    assert "\n\n" not in table
    assert 'id="' not in table


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--page", "x.html"], "--page has no effect without --all"),
        (["--all", "--page", "x.pdf"], "page must end in .html or .md: `x.pdf`"),
        (["--all", "--page", "nowhere/x.html"], "no such directory: `nowhere`"),
        (["--all", "--json"], "--json has no effect with --all"),
        (["--all", "no-such-cca"], "no-such-cca"),
        ([], "no CCA to audit"),
    ],
)
def test_one_error_before_the_first_run(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["reno", *words] if words[:1] == ["--page"] else words
    assert main(["audit", *given]) == 2
    assert message in capsys.readouterr().err


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fairweir.cli.audit.built_in", lambda: ["reno", "vegas"])
    words = ["audit", "--all", "copa", "--quick", "--only", "ideal-rate", "--seeds", "2", "--page", "board.html"]
    assert main(words) == 0
    assert (tmp_path / "results/audit/all-quick/copa/report.html").is_file()
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert all(f'href="results/audit/all-quick/{cca}/report.html"' in page for cca in ("reno", "vegas", "copa"))


def test_the_page_of_the_documentation_has_every_controller_and_property() -> None:
    text = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    assert built_in() == list(algorithms())
    assert {name for name in built_in() if f'data-key="{name}"' not in text} == set()
    assert {one.name for one in PROPERTIES if one.name not in text} == set()
