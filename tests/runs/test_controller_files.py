"""Controller files of decision synthesis run wherever a congestion controller is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairweir.ccas.lookup import check, source_digest
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.errors import CcaError, ConfigError
from fairweir.game.query import GameQuery
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell

#: Probes while there is no queue, else drains it.
DOCUMENT: dict[str, Any] = {
    "format": "fairweir-tree-1", "name": "small", "kind": "rate", "query": "by hand", "query_sha256": "00",
    "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 4000], "b": [1, 4000]},
    "nodes": [
        {"feature": {"q": 1.0, "packet": -2.0}, "at_most": 0.5, "then": 1, "else": 2},
        {"leaf": {"name": "probe", "rate": {"M": 1.25, "packet": 1}}},
        {"leaf": {"name": "drain", "rate": {"M": 1, "Q": -1}}},
    ],
    "shield": [{"cap": "rate", "at": {"R0": 1, "M": 0.25, "packet": 1}}],
}  # fmt: skip

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(**changes: Any) -> Path:
        path = tmp_path / "small.json"
        path.write_text(json.dumps({**DOCUMENT, **changes}))
        return path

    return written


@pytest.mark.parametrize("rate", ["10Mbps", "100Mbps"])
def test_a_controller_file_fills_a_link(write: Write, rate: str) -> None:
    scenario = dumbbell([str(write())], rate=rate, rtprop="40ms", buffer="4bdp", duration="15s", warmup="5s")
    summary = run(scenario).summary.document
    assert summary["links"][0]["utilization"] > 0.9
    assert summary["flows"][0]["qdelay_ms"]["p95"] < 40
    again = run(scenario).summary.document
    assert [again[part] for part in ("flows", "links")] == [summary[part] for part in ("flows", "links")]


def test_parameters_and_the_file_decide(write: Write) -> None:
    path = write()

    def sent(cca: str) -> int:
        found = run(dumbbell([cca], rate="10Mbps", rtprop="20ms", duration="5s")).summary.document["flows"][0]
        return int(found["sent_pkts"])

    assert sent(str(path)) != sent(f'{path}{{min_step="100ms"}}')
    with pytest.raises(CcaError, match="theta"):
        sent(f"{path}{{theta=1}}")
    before = source_digest(str(path))
    write(shield=[{"cap": "rate", "at": {"M": 0.5}}])
    assert source_digest(str(path)) != before


def test_a_file_is_found_next_to_the_scenario(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    check("small.json", base=tmp_path)
    with pytest.raises(CcaError, match="no such file"):
        check("small.json")


@pytest.mark.parametrize("name", ["published", str(shipped.by_name("controllers")["published"])])
def test_a_controller_of_video_is_rejected(name: str) -> None:
    with pytest.raises(CcaError, match="decides on video frames") as caught:
        check(name)
    assert "video run --sender" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"nodes": []}, "at least one leaf"),
        ({"model": {"c": [1, 2]}}, "model"),
        ({"format": "fairweir-tree-9"}, "unknown format"),
        ({"nodes": [{"feature": {"q": 1}, "at_most": 1, "then": 0, "else": 0}]}, "index of a later node"),
    ],
)
def test_a_broken_file_is_rejected_by_name(write: Write, changes: dict[str, Any], says: str) -> None:
    path = write(**changes)
    with pytest.raises(ConfigError, match=says) as caught:
        check(str(path))
    assert caught.value.source == str(path)


def test_special_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("x")
    with pytest.raises(ConfigError, match="not JSON"):
        check(str(tmp_path / "text.json"))
    with pytest.raises(CcaError, match="no such file"):
        check("nowhere.json")
    with pytest.raises(CcaError) as caught:
        check("small.json:Small")
    assert "has no classes" in str(caught.value.hint)


def test_the_shipped_controller_is_listed_proved_and_of_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "controllers", "--json"]) == 0
    rows = {row["name"]: row["summary"] for row in json.loads(capsys.readouterr().out)["controllers"]}
    assert rows["bulk"] == "decides on a rate: a CCA; 7 leaves, 21 of 21 claims proved"
    assert rows["published"].startswith("decides on video frames")
    document = json.loads(shipped.by_name("controllers")["bulk"].read_bytes())
    assert document["query_sha256"] == GameQuery.load(shipped.by_name("game-queries")["bulk"]).fingerprint
    check("bulk")
    with pytest.raises(CcaError) as caught:
        check("bulky")
    assert "`bulk`" in str(caught.value.hint)


def test_the_kernel_says_why_it_cannot(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write()
    with pytest.raises(CcaError, match="kernel cannot run a controller file") as caught:
        run(dumbbell([str(path)], rate="12Mbps", rtprop="20ms", duration="1s"), on="kernel")
    assert "floating point" in str(caught.value.hint)
    assert main(["kernel", "load", str(path)]) == 2
    assert "floating point" in capsys.readouterr().err
