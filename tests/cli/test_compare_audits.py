"""``fairweir compare`` on audits: a table of claims with intervals, changes, and a page with both audits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from fairweir.audit.folder import write_files
from fairweir.audit.runner import run_audit
from fairweir.cli.main import main
from fairweir.documents.atomic_write import write_text

#: Maximum time until a page has drawn its figures on a busy machine, ms.
TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with audits of CUBIC, of CUBIC with another parameter, and of two CCAs."""
    root = tmp_path_factory.mktemp("audits")
    sides: dict[str, Any] = {"before": "cubic", "after": "cubic{beta=0.3}", "two": ["reno", "vegas"]}
    for name, ccas in sides.items():
        (root / name).mkdir()
        write_files(run_audit(ccas, depth="quick", only=["policer", "ideal-rate"]), root / name)
    deep = json.loads((root / "before" / "results.json").read_text(encoding="utf-8"))
    (root / "deep").mkdir()
    write_text(root / "deep" / "results.json", json.dumps({**deep, "depth": "deep"}))
    return root


def test_audits_before_and_after_a_change_are_compared(
    audits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], browser: Browser
) -> None:
    monkeypatch.chdir(audits)
    assert main(["compare", "before", "after"]) == 0
    said = capsys.readouterr()
    assert "after compared with before: 2 worsened (5 claims compared)" in said.out
    assert "not compared" not in said.out
    row = next(line for line in said.out.splitlines() if line.split()[:1] == ["policer.loss_rate"])
    assert row.endswith("worsened")
    assert row.count("[") == 2
    page = browser.new_context(offline=True).new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((audits / "results/compare/before-after/compare.html").as_uri(), timeout=TIMEOUT_MS)
    assert page.inner_text("h1") == "Audit of cubic, cubic{beta=0.3}"
    page.locator("[data-runs]:visible").first.scroll_into_view_if_needed()
    page.wait_for_selector("[data-drawn] canvas", timeout=TIMEOUT_MS)
    assert page.locator(".comparison tbody tr.worsened").count() == 2
    words = page.locator(".score .words").all_inner_texts()
    assert ["baseline" in text for text in words] == [False, True]
    assert errors == []
    page.context.close()


def test_audits_of_one_cca_have_their_folders_names(
    audits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(audits)
    again = audits / "again"
    again.mkdir()
    write_text(again / "results.json", (audits / "before" / "results.json").read_text(encoding="utf-8"))
    assert main(["compare", "before", "again/results.json", "--page", "page.html", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["compared"], found["changes"], found["not_compared"]) == (5, [], [])
    text = (audits / "page.html").read_text(encoding="utf-8")
    assert "Audit of cubic (before), cubic (again)" in text


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (["before", "two"], "no CCA in common: cubic; reno, vegas"),
        (["before", "deep"], "audits of one battery are compared: `quick` and `deep`"),
    ],
)
def test_audits_that_cannot_be_compared_are_one_error(
    sides: list[str], words: str, audits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(audits)
    assert main(["compare", *sides]) == 2
    assert words in capsys.readouterr().err
