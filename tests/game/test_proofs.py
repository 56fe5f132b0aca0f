"""Proofs of controllers: claims proved, refuted with a replay, or vacuous; and attempts to prove false claims."""

from __future__ import annotations

import copy
import functools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairweir.ccas.controller_file import Controller
from fairweir.cli.main import main
from fairweir.errors import ConfigError, InvariantError
from fairweir.formal.certificates.certificate import accept
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.game.claims import default_claims, parse_claim
from fairweir.game.proofs import LeafVerdict, Prover
from fairweir.game.realise import Realiser, parse

F = Fraction
SHIELD: list[dict[str, Any]] = [
    {"unless": "message <= R0", "do": "newest"},
    {"unless": "message <= R0", "do": "hold"},
    {"cap": "rate", "at": {"M": 3, "Q": -1}},
]
#: The second leaf sends all batches at three steps of M, for any buffer.
BAD: dict[str, Any] = {
    "format": "fairweir-tree-1", "name": "bad", "kind": "video", "query": "none", "query_sha256": "",
    "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 200], "b": [1, 200]},
    "nodes": [
        {"feature": {"spare_sum": 1}, "at_most": 0.25, "then": 2, "else": 1},
        {"leaf": {"send": "newest", "rate": {"M": 1}, "encode": {"M": 1}}},
        {"leaf": {"send": "all", "rate": {"M": 3}, "encode": {"M": 1}, "name": "everything"}},
    ],
}  # fmt: skip


def tree(changes: dict[str, Any] | None = None, shield: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    made = {**copy.deepcopy(BAD), **(changes or {})}
    return made if shield is None else {**made, "shield": shield}


def controller(document: dict[str, Any]) -> Controller:
    return Controller.parse(json.dumps(document), "tree.json")


def judged(document: dict[str, Any], *claims: str, windows: int = 0, certificates: bool = False) -> list[LeafVerdict]:
    made = controller(document)
    asked = [parse_claim(text, made.kind) for text in claims] or default_claims(made.kind)
    realiser = Realiser(made.links, made.points, windows) if windows else None
    return Prover(realiser=realiser, with_certificates=certificates).prove(made, asked)


def outcomes(verdicts: list[LeafVerdict]) -> dict[tuple[int, str], str]:
    return {(one.leaf, one.claim.text): one.outcome.value for one in verdicts}


@functools.cache
def refutation_text() -> str:
    found = judged(tree(), "decodable", windows=25)
    return json.dumps(next(one.refutation for one in found if one.refutation is not None).document())


def test_a_bad_leaf_is_refuted_and_the_refutation_replays(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(tree()))
    found = judged(tree(), "decodable", "queue<=2", "queue<=3", windows=25)
    of = outcomes(found)
    assert of[1, "queue<=3"] == "refuted"  # more than 3 M may wait where r0 is large
    assert of[2, "decodable"] == "refuted"
    broken = next(one for one in found if (one.leaf, one.claim.text) == (2, "decodable")).refutation
    assert broken is not None
    # A simulation of the link, without the encoding, loses more packets than there are repair packets.
    assert broken.played.loss > broken.act.rate - broken.act.message
    assert broken.played.loss == broken.played.queue + broken.act.rate - broken.link.c - broken.link.b
    again = parse(json.loads(json.dumps(broken.document())), "refutation.json")
    assert (again.excess, again.played) == (broken.excess, broken.played)
    replayed = tmp_path / "refutation.json"
    replayed.write_text(json.dumps(broken.document()))
    assert main(["verify", str(replayed)]) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("link.c", "200"), ("link.served", "-1"), ("window.sent_next", "0"), ("claim", "queue<=200"), ("leaf", 1)],
)
def test_a_refutation_that_was_changed_is_not_believed(key: str, value: Any) -> None:
    document = json.loads(refutation_text())
    *tables, last = key.split(".")
    place = document[tables[0]] if tables else document
    place[last] = value
    with pytest.raises(InvariantError):
        parse(document, "refutation.json")


@pytest.mark.parametrize("text", ["1e999999999", "1/0", "nan", "0x10", "1" * 1000, 3, None, True])
def test_numbers_of_a_refutation_are_rational_texts(text: Any) -> None:
    document = json.loads(refutation_text())
    document["link"]["c"] = text
    with pytest.raises(ConfigError, match="rational"):
        parse(document, "refutation.json")


def test_with_the_shield_every_leaf_is_proved_and_certified() -> None:
    found = judged(tree(shield=SHIELD), certificates=True)
    assert {one.outcome for one in found} == {ProofOutcome.PROVED}
    for one in found:
        assert one.certificate is not None, one.uncertified
        accept(one.question, one.certificate.lines)  # by both checkers


def test_frames_are_delivered_in_time_or_that_is_refuted() -> None:
    """Five steps: two until the frames have arrived, two that drain the queue, one of jitter."""
    leaf = {"leaf": {"send": "newest", "rate": {"M": 3, "Q": -1}, "encode": {"M": 1}}}
    shielded = tree({"nodes": [leaf]}, shield=SHIELD)
    assert outcomes(judged(shielded, "latency<=5", "latency<=6")) == {
        (0, "latency<=5"): "proved", (0, "latency<=6"): "proved",
    }  # fmt: skip
    broken = judged(tree({"nodes": [leaf]}), "latency<=4", windows=15)[0]
    assert broken.outcome is ProofOutcome.REFUTED
    assert broken.refutation is not None
    assert broken.refutation.act.message > 0
    assert broken.refutation.played.queue_after > broken.refutation.link.c
    for text in ("latency<=3", "latency<=7", "latency<=9/2"):
        with pytest.raises(ConfigError, match="latency"):
            judged(shielded, text)


def test_a_leaf_that_no_state_reaches_is_vacuous() -> None:
    nodes = [
        {"feature": {"q": 1}, "at_most": 1.0, "then": 1, "else": 4},
        {"feature": {"room": 1}, "at_most": 1.5, "then": 2, "else": 3},
        {"leaf": {"send": "none", "rate": {}}},  # q <= 1 and 3 - q <= 1.5
        {"leaf": {"send": "none", "rate": {}}},
        {"leaf": {"send": "none", "rate": {}}},
    ]
    found = judged(tree({"nodes": nodes}), "queue<=2", "decodable")
    assert outcomes(found) == {
        (2, "queue<=2"): "vacuous", (2, "decodable"): "vacuous", (3, "queue<=2"): "proved", (3, "decodable"): "proved",
        (4, "queue<=2"): "proved", (4, "decodable"): "proved",
    }  # fmt: skip
    # The facts about belief sets imply more than the tree's conditions: R0 is at least M minus a packet, because q <=
    # B.
    nodes[0] = {"feature": {"r0": 1, "packet": 1}, "at_most": 0.5, "then": 1, "else": 4}
    found = judged(tree({"nodes": nodes}), "queue<=2")
    assert [one.outcome.value for one in found] == ["vacuous", "vacuous", "proved"]


def test_a_claim_that_no_action_breaks_is_vacuous() -> None:
    # Buffers of two packets at most: no queue is longer than 2 M.
    small = tree({"model": {"c": [1, 200], "b": [1, 2]}})
    assert {one.outcome for one in judged(small, "queue<=2")} == {ProofOutcome.VACUOUS}


#: Attempts to prove a false claim: trees that violate a claim on some link, with the claim and the leaf that violates
#: it.
ATTACKS: dict[str, tuple[dict[str, Any], str, int]] = {
    "the shield's cap comes before what raises the rate": (
        tree(shield=[{"cap": "rate", "at": {"M": 3, "Q": -1}}, {"unless": "rate <= M - Q", "do": "newest"}]),
        "queue<=2", 2,
    ),
    "the shield is empty": (tree(shield=[]), "decodable", 2),
    "a guard on the rate alone": (tree(shield=[{"unless": "rate <= 3 M - Q", "do": "hold"}]), "decodable", 2),
    "a cap that is never below": (tree(shield=[{"cap": "rate", "at": {"M": 1000000}}]), "queue<=3", 2),
    "a guard that sends the oldest instead": (
        tree(shield=[{"unless": "message <= R0", "do": "oldest"}]), "decodable", 2,
    ),
    "a form that cancels itself, as a guard of the whole tree": (
        tree({"nodes": [
            {"feature": {"room": 1, "q": 1}, "at_most": 3.0, "then": 1, "else": 2},
            {"leaf": {"send": "all", "rate": {"M": 3}}}, {"leaf": {"send": "none", "rate": {}}},
        ]}), "decodable", 1,
    ),
    "a threshold at the edge of what is true": (
        tree({"nodes": [
            # R0 >= M: leaf 1 is reached at r0 = 1 exactly, and by rounding from both sides.
            {"feature": {"r0": 1}, "at_most": 1.0, "then": 1, "else": 2},
            {"leaf": {"send": "none", "rate": {"M": 1.01}}}, {"leaf": {"send": "none", "rate": {"R0": 1}}},
        ]}), "loss<=0", 1,
    ),
    "huge coefficients in front of a feature": (
        tree({"nodes": [
            {"feature": {"spare_sum": 1000000}, "at_most": -1000000.0, "then": 1, "else": 2},
            {"leaf": {"send": "all", "rate": {"M": 3}}}, {"leaf": {"send": "none", "rate": {}}},
        ]}), "decodable", 1,
    ),
    "a negative rate as a leaf's form": (
        tree({"nodes": [{"leaf": {"send": "all", "rate": {"M": -1000000}}}]}), "decodable", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name: str) -> None:
    document, claim, leaf = ATTACKS[name]
    made = controller(document)
    kinds = parse_claim(claim, made.kind)
    found = Prover(realiser=Realiser(made.links, made.points, 12)).prove(made, [kinds])
    verdict = next(one for one in found if one.leaf == leaf)
    assert verdict.outcome in (ProofOutcome.REFUTED, ProofOutcome.UNKNOWN), verdict


def test_thresholds_that_only_rounding_decides_are_not_relied_upon() -> None:
    # q + rate - C is at most q + 1: up to q = 1 that is 2 M, and a hundredth above it is not.
    nodes: list[dict[str, Any]] = [
        {"feature": {"q": 1}, "at_most": 1.0, "then": 1, "else": 2},
        {"leaf": {"send": "none", "rate": {"M": 2}}},
        {"leaf": {"send": "none", "rate": {}}},
    ]
    assert {one.outcome for one in judged(tree({"nodes": nodes}), "queue<=2")} == {ProofOutcome.PROVED}
    nodes[0]["at_most"] = 1.01
    assert ProofOutcome.UNKNOWN in {one.outcome for one in judged(tree({"nodes": nodes}), "queue<=2")}


HOSTILE: dict[str, str] = {
    "NaN": json.dumps(tree()).replace("0.25", "NaN"),
    "an infinite threshold": json.dumps(tree()).replace("0.25", "1e999"),
    "a huge coefficient": json.dumps(tree()).replace('"M": 3', '"M": 1e300'),
    "a huge integer": json.dumps(tree()).replace('"M": 3', f'"M": {"9" * 400}'),
    "a truth value for a number": json.dumps(tree()).replace('"M": 3', '"M": true'),
    "a cycle": json.dumps(tree()).replace('"else": 1', '"else": 0'),
    "a child beyond the end": json.dumps(tree()).replace('"else": 1', '"else": 7'),
    "two parents": json.dumps(tree()).replace('"else": 1', '"else": 2'),
    "no nodes": json.dumps(tree({"nodes": []})),
    "a constant form": json.dumps(tree()).replace('{"spare_sum": 1}', '{"spare_sum": 0}'),
    "an unknown feature": json.dumps(tree()).replace("spare_sum", "spare_all"),
    "a key twice": json.dumps(tree()).replace('"at_most": 0.25', '"at_most": 0.25, "at_most": 9'),
    "an unknown key": json.dumps(tree({"sheild": SHIELD})),
    "an unknown rule": json.dumps(tree(shield=[{"unless": "message >= R0", "do": "hold"}])),
    "deep nesting": "[" * 100_000,
    "no object": "[]",
    "not JSON": "{",
    "points": json.dumps(tree({"points": 60})),
    "a step without a unit": json.dumps(tree({"step": "50"})),
    "no query": json.dumps({key: value for key, value in tree().items() if key != "query"}),
    "frames of a controller of a rate": json.dumps(tree({"kind": "rate"})),
    "a model without links": json.dumps(tree({"model": {"c": [5, 1], "b": [1, 200]}})),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_rejected(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(HOSTILE[name])
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "hostile.json" in error


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(tree(shield=SHIELD)))
    assert main(["verify", str(path), "--json", "--write", "--certificate", "--out", str(tmp_path / "out")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["status"] for row in document["verdicts"]} == {"proved"}
    assert len(document["verdicts"]) == 2 * 6
    written = Controller.load(path)
    assert written.nodes == controller(tree()).nodes
    assert {row["status"] for row in written.document["proofs"]} == {"proved"}
    question = (tmp_path / "out" / "leaf-1-decodable" / "question.smt2").read_text()
    lines = (tmp_path / "out" / "leaf-1-decodable" / "certificate.txt").read_text().splitlines()
    accept(question, lines)
    path.write_text(json.dumps(tree()))
    assert main(["verify", str(path), "--property", "decodable", "--out", str(tmp_path / "out")]) == 1
    assert "refuted" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "out" / "leaf-2-decodable.json")]) == 1
    assert main(["verify", str(path), "--property", "utilization>=0.5"]) == 2
    assert main(["verify", str(path), "--points", "7"]) == 2
    assert main(["verify", "aimd", "--write"]) == 2
