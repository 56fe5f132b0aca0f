"""The gallery lists scenarios that open in the studio."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.accessibility import faults
from tests.starving import PAIR
from tests.studio.serving import SCENARIO, TIMEOUT_MS, serve

from fairweir.audit.folder import write_files
from fairweir.audit.runner import run_audit
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.documents.toml import parse_document
from fairweir.errors import ConfigError
from fairweir.reproduce.experiment import known_ids
from fairweir.scenario.model import Scenario
from fairweir.starvation.certificate import write
from fairweir.starvation.certify import certify
from fairweir.starvation.question import Question
from fairweir.studio.folder import Folder
from fairweir.studio.gallery import groups, text_of_item
from fairweir.units import Duration


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gallery")
    (root / "one.toml").write_text(SCENARIO, encoding="utf-8")
    write_files(run_audit("reno", depth="quick", only=["random-loss"]), root / "results" / "audit" / "reno")
    write(
        certify(Question("vegas", jitter=Duration.from_ms(20)), PAIR, lambda what, part: None),
        root / "vegas-certificate.parquet",
    )
    assert main(["verify", "cc_qdel", "--property", "queue<=50", "--points", "4", "--out", str(root / "verified")]) == 1
    (root / "vegas-starves.toml").write_text(SCENARIO, encoding="utf-8")
    return root


def test_every_published_experiment_is_listed_and_its_scenarios_run(tmp_path: Path) -> None:
    folder, base = Folder(tmp_path), shipped.folder("experiments")
    published = [group for group in groups(folder) if group.kind == "Published figures"]
    assert sorted(group.title.partition(":")[0] for group in published) == sorted(known_ids(base))
    for group in published:
        assert group.items
        for item in group.items:
            document = parse_document(text_of_item(folder, item.name), None)
            folder.check_files(document, base)
            Scenario.from_dict(document, base=base).resolve()


def test_failing_claims_are_those_of_the_audits(filled: Path) -> None:
    (audit,) = [group for group in groups(Folder(filled)) if group.kind.startswith("Failing")]
    files = sorted((filled / "results/audit/reno/failing").glob("*.toml"))
    assert sorted(filled / item.name for item in audit.items) == files != []


def test_a_certificate_has_its_network_and_each_flow_alone(filled: Path) -> None:
    (certificate,) = [group for group in groups(Folder(filled)) if group.kind.startswith("Starvation")]
    assert certificate.title.startswith("vegas: ratio")
    network, *alone = [item.name for item in certificate.items]
    assert network == "vegas-starves.toml"
    for name in alone:
        assert len(Scenario.from_dict(parse_document(text_of_item(Folder(filled), name), None)).flow) == 1


def test_a_refutation_has_its_packets(filled: Path) -> None:
    (refuted,) = [group for group in groups(Folder(filled)) if group.kind == "Refutations"]
    assert refuted.title == "cc_qdel on ccac: queue <= 50 C (R + D) is refuted"
    (item,) = refuted.items
    assert item.name == "verified/cc_qdel-ccac-queue-50/scenario.toml"
    assert item.title.endswith("where the claim is violated too")


def test_a_verdict_without_packets_is_listed_with_the_reason(tmp_path: Path) -> None:
    verdict = {"cca": "a", "model": "mine", "claim": "queue <= 1", "refutation": {"not_replayed": "no elements"}}
    for outcome in ("refuted", "proved"):
        (tmp_path / outcome).mkdir()
        (tmp_path / outcome / "verdict.json").write_text(json.dumps({**verdict, "outcome": outcome}), encoding="utf-8")
    (refuted,) = [group for group in groups(Folder(tmp_path)) if group.kind == "Refutations"]
    assert refuted.text == "refuted: not replayed in packets: no elements"
    assert refuted.items == []


def test_unreadable_files_are_listed_with_the_reason(tmp_path: Path) -> None:
    for name in ("results.json", "verdict.json", "x-certificate.parquet"):
        (tmp_path / name).write_bytes(b"\xff{")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "results.json").write_text("{", encoding="utf-8")
    (tmp_path / "link").symlink_to("/etc")
    found = [group for group in groups(Folder(tmp_path)) if group.kind != "Published figures"]
    assert [group.title for group in found] == ["results.json", "verdict.json", "x-certificate.parquet"]
    assert all(group.text.startswith("cannot be read: ") and not group.items for group in found)


@pytest.mark.parametrize(
    "name",
    ["experiment:", "experiment:none/0", "experiment:thesis-2.1/99", "experiment:../../etc/0", "certificate:",
     "certificate:../x-certificate.parquet/slow", "certificate:/etc/passwd/slow", "certificate:none.parquet/slow"],
)  # fmt: skip
def test_other_names_are_one_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        text_of_item(Folder(tmp_path), name)


def test_an_item_of_the_world_of_stacks_opens_in_it(filled: Path, browser: Browser) -> None:
    served = serve(filled)
    page = browser.new_page()
    for start in ("#open=one.toml&world=quic", "#open=stacks%2Fbursty-host"):
        page.goto("about:blank")
        page.goto(f"{served.url}{start}")
        page.wait_for_selector("html[data-name]", state="attached", timeout=TIMEOUT_MS)
        assert page.input_value("#world") == "quic"
        assert page.locator("#messages .error").count() == 0
    page.select_option("#files", "one.toml")
    page.wait_for_selector("html[data-name='one.toml']", state="attached", timeout=TIMEOUT_MS)
    assert page.input_value("#world") == "sim"
    page.close()
    served.process.send_signal(signal.SIGINT)
    served.process.wait(20)


def test_items_open_in_the_browser(filled: Path, browser: Browser) -> None:
    served = serve(filled)
    page = browser.new_page()
    page.goto(f"{served.url}gallery")
    page.wait_for_selector("#gallery[aria-busy=false]", timeout=TIMEOUT_MS)
    assert page.locator("#gallery article").count() > 20
    assert faults(page) == []
    for start in ("results/audit/reno/failing/", "verified/", "experiment:thesis-2.2/", "certificate:vegas"):
        page.goto(f"{served.url}gallery")
        page.locator(f"a[href^='./#open={start.replace('/', '%2F').replace(':', '%3A')}']").first.click()
        page.wait_for_selector(f'html[data-name^="{start}"]', state="attached", timeout=TIMEOUT_MS)
        assert page.locator("#messages .error").count() == 0
    page.close()
    served.process.send_signal(signal.SIGINT)
    served.process.wait(20)
