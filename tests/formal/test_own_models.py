"""A user's network model is one file; it is verified, judged and replayed. An invalid model gives one clear error."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.formal.claims.syntax import parse_claim
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.exact import judge
from fairweir.formal.models import MODELS, NETWORKS, hosted
from fairweir.formal.models.new import write_model
from fairweir.formal.models.user import find_model
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.formal.verdicts.evidence import gather
from fairweir.formal.verdicts.subjects import find_subject
from fairweir.formal.verdicts.verify import Case, verify

#: A model that serves arriving bytes at once, so that no byte waits.
DUMMY = '''
from fairweir.formal.exact import NETWORK
from fairweir.formal.models import Model

class Dummy(Model):
    """A link without limits."""

    name = "dummy"
    has_jitter = False

    def constrain(self, system):
        for t in range(system.grid.points):
            system.require("service", system.S[t] == system.accepted(t))

    def violations(self, trace):
        for t, served in enumerate(trace.S):
            yield from NETWORK.equal("S", served, trace.accepted(t), "service", t)
'''


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program in an empty folder: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        return code, *capsys.readouterr()

    return call


def write(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return f"{path}:Dummy"


def case(model: str, claim: str, points: int = 4, buffer: Buffer = Buffer.INFINITE) -> Case:
    return Case(find_subject("cc_qdel"), model, parse_claim(claim), Grid(points), buffer)


def test_a_model_is_one_file(tmp_path: Path) -> None:
    where = write(tmp_path, DUMMY)
    proved = verify(case(where, "queue<=1"))
    # The control shows that no byte waits with any sender.
    assert proved.outcome is ProofOutcome.VACUOUS
    refuted = verify(case(where, "utilization>=1.5"))
    assert refuted.outcome is ProofOutcome.REFUTED
    evidence = gather(refuted)
    assert evidence.played is None
    document = evidence.document()
    assert document["refutation"]["packets"] is None
    assert "has no equivalent" in document["refutation"]["not_replayed"]
    assert document["model_file"]["class"] == where
    assert MODELS["dummy"].summary == "A link without limits"
    assert "dummy" not in NETWORKS


def test_a_new_model_runs_at_once_and_replays_in_packets(call: Call, tmp_path: Path) -> None:
    made = json.loads(call("new", "model", "my_link", "--json")[1])
    assert made["files"] == ["my_link.py"]
    words = made["commands"][0].split()[1:]
    code, out, _ = call(*words, "--points", "5", "--property", "utilization>=0.3", "--json")
    assert code == 1
    verdict = json.loads(out)["verdicts"][0]
    assert verdict["outcome"] == "refuted"
    assert verdict["refutation"]["packets"]["breaks_the_claim"] is True
    assert verdict["model_file"]["class"] == "my_link.py:MyLink"
    code, _, refusal = call("new", "model", "my_link")
    assert code == 2
    assert "already exists" in refusal


@pytest.mark.parametrize("buffer", list(Buffer))
def test_encoding_and_judge_of_the_skeleton_agree(tmp_path: Path, buffer: Buffer) -> None:
    made = write_model("my_link", tmp_path)
    where = made.commands[0].split()[-1]
    for claim in ("utilization>=0.7", "queue<=1/2", "bq@end <= 0"):
        assert verify(case(where, claim, buffer=buffer)).outcome is ProofOutcome.REFUTED


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("class Dummy(Model)", "class Other(Model)", "no class `Dummy`.*it has `Other`"),
        ("class Dummy(Model)", "Dummy = 1\nclass Other(Model)", "`Dummy` in .* is not a network model"),
        ("class Dummy(Model)", "class Dummy", "is not a network model"),
        ("def violations", "def judge", r"model `Dummy`: class at line \d+ has no `violations`.*mine.py"),
        ("def constrain", "def encode", "has no `constrain`"),
        ("    has_jitter", "    def __init__(self, x): pass\n    has_jitter", "cannot create an instance: TypeError"),
        ('name = "dummy"', 'name = "ccac"', "a model `ccac` already exists"),
        ('name = "dummy"', 'name = "../x"', "not a name for a model"),
        ('    name = "dummy"\n', "", "not a name for a model: `None`"),
        ("has_jitter = False", "has_jitter = 3", "`has_jitter` must be True or False: `3`"),
        ("has_jitter = False", "packets = 3", "`packets` must be a PacketPath"),
        ("system.S[t] == system.accepted(t)", "1 / 0", r"`constrain` fails: ZeroDivisionError.*mine.py, line \d+"),
        ("system.S[t] == system.accepted(t)", "exit(3)", r"`constrain` fails: SystemExit: 3 \(mine.py, line \d+"),
        ("system.S[t] == system.accepted(t)", "True", "`constrain` adds `True` to group `service`"),
        ("system.S[t] == system.accepted(t)", "system.S[t]", "which is not a z3 constraint"),
        ("        for t in range(system", "        system.TA = [1]\n        for t in range(system", "sets `system.TA`"),
        ("        for t, served", "        raise KeyError(3)\n        for t, served", "`violations` fails: KeyError"),
        ("yield from NETWORK.equal", "yield ", "`violations` returns `\\('S', "),
        (
            "        for t, served",
            "        return []\n        for t, served",
            "`violations` accepts a trace that serves 1000",
        ),
        ("system.S[t] == system", "system.S[t] <= system", "`constrain` and `violations` disagree"),
        ("from fairweir.formal.exact", "from nowhere", "does not run: ModuleNotFoundError"),
        ("class Dummy", "class Dummy(", "does not run: SyntaxError"),
    ],
)
def test_a_wrong_model_is_one_error_that_names_it(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in DUMMY
    where = write(tmp_path, DUMMY.replace(old, new))
    with pytest.raises(ConfigError) as raised:
        find_model(where)
    assert raised.value.key == "--model"
    assert re.search(expected, " ".join(raised.value.render().split()))


def test_no_such_model_and_no_such_file(call: Call) -> None:
    for word, expected in (
        ("ccca", "no such model: `ccca`"),
        ("mine.py", "name the class too"),
        ("no.py:Mine", "no such file"),
        ("nowhere.mod:Mine", "no Python module"),
    ):
        code, _, refusal = call("verify", "cc_qdel", "--model", word)
        assert code == 2
        assert expected in refusal


def test_a_judge_that_accepts_less_than_the_encoding_is_an_error_at_the_counterexample(tmp_path: Path) -> None:
    """The comparison of judge and encoding when the file is loaded uses a trace that is too short to show this."""
    late = "        if trace.grid.points > 4:\n            yield from NETWORK.unless(False, 'late', 4, 'no')\n"
    where = write(tmp_path, DUMMY.replace("        for t, served", f"{late}        for t, served"))
    asked = case(where, "utilization>=1.5", points=5)
    with pytest.raises(ConfigError, match="`constrain` and `violations` disagree: a trace breaks late at t = 4"):
        verify(asked)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("        for t in range(system", "        while True: pass\n        for t in range(system", "does not return"),
        ("        for t, served", "        while True: pass\n        for t, served", "does not return"),
        ("class Dummy", "while True: pass\nclass Dummy", "loading it does not return"),
        ("        for t in range(system", "        bytearray(1 << 46)\n        for t in range(system", "MemoryError"),
        (
            "        for t in range(system",
            "        import os; os._exit(7)\n        for t in range(system",
            "exit code 7",
        ),
        (
            "        for t, served",
            "        import os; os.kill(0, 9)\n        for t, served",
            "ends the process .SIGKILL",
        ),
        (
            "        for t in range(system",
            "        system.groups.clear()\n        for t in range(system",
            "changes group",
        ),
        ("    has_jitter", "    acks = 3\n    has_jitter", "`acks` must be one of Acks"),
        ("class Dummy", "raise KeyboardInterrupt\nclass Dummy", "ends the process|KeyboardInterrupt"),
    ],
)
def test_hostile_code_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, expected: str
) -> None:
    if "return" in expected:
        monkeypatch.setattr(hosted, "TIMEOUT_S", 8)
    assert old in DUMMY
    with pytest.raises(ConfigError) as raised:
        find_model(write(tmp_path, DUMMY.replace(old, new, 1)))
    assert re.search(expected, " ".join(raised.value.render().split()))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("__import__('os')._exit(0)", r"`violations` ends the process \(exit code 0\)"),
        ("any(iter(int, 1))", "not return"),
    ],
)
def test_code_that_turns_hostile_at_a_verdict_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, expected: str
) -> None:
    monkeypatch.setattr(hosted, "TIMEOUT_S", 8)
    text = DUMMY.replace("        for t, served", f"        if trace.grid.points > 4: {code}\n        for t, served")
    asked = case(write(tmp_path, text), "utilization>=1.5", points=5)
    with pytest.raises(ConfigError, match=expected):
        verify(asked)


def test_a_models_code_changes_nothing_in_the_process_that_judges(tmp_path: Path) -> None:
    """Neither imports nor monkeypatching by the model have an effect; and a changed file is loaded again."""
    spoils = "import fairweir.formal.exact.judge as judge\njudge.violations = lambda trace: []\n"
    where = write(tmp_path, spoils + DUMMY)
    first = find_model(where)
    assert find_model(where) is first
    assert judge.violations.__module__ == "fairweir.formal.exact.judge"
    (tmp_path / "mine.py").write_text(DUMMY.replace("without limits", "of a second version"))
    assert find_model(where).summary == "A link of a second version"


def test_what_a_model_prints_is_no_result(call: Call, tmp_path: Path) -> None:
    write(tmp_path, "print('{}')\n" + DUMMY.replace("        for t", "        print('{}')\n        for t"))
    code, out, _ = call(
        "verify", "cc_qdel", "--model", "mine.py:Dummy", "--points", "4", "--property", "utilization>=1.5", "--json"
    )
    assert code == 1
    (verdict,) = json.loads(out)["verdicts"]
    assert "as the user's `mine.py:Dummy` (SHA-256 " in verdict["assumed"][0]


def test_a_judge_that_accepts_all_but_the_impossible_has_a_verdict_of_its_own(call: Call, tmp_path: Path) -> None:
    """The link may serve nothing, and no definition contradicts this, so the verdict names the judge."""
    text = DUMMY.replace("system.S[t] == system.accepted(t)", "system.S[t] <= system.accepted(t)")
    judge = (
        "            if served > trace.accepted(t):\n                yield from NETWORK.unless(False, 'S', t, 'no')\n"
    )
    head, _, _ = text.partition("            yield from NETWORK.equal")
    write(tmp_path, head + judge)
    code, out, _ = call(
        "verify", "cc_qdel", "--model", "mine.py:Dummy", "--points", "5", "--property", "utilization>=0.1"
    )
    assert code == 1
    assert "checked with exact arithmetic, by `violations` of mine.py:Dummy: " in out
    assert "the dummy link as the user's `mine.py:Dummy`" in out
    assert "the link serves within D of a server of rate C; not checked" in out


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_definitions_of_shipped_models_import_neither_solver_nor_encoding() -> None:
    files = list(Path("python/fairweir/formal/exact").rglob("*.py"))
    assert len(files) > 8
    for path in files:
        for name in imported(path):
            assert not name.startswith(("z3", "fairweir.formal.models", "fairweir.formal.solving")), path


def test_no_code_compares_the_name_of_a_model() -> None:
    """Code reads the attributes of a model; only suites of lemmas and shipped options name models."""
    names = "|".join(NETWORKS)
    compared = re.compile(rf"""(==|!=|\bin\b|startswith)\s*\(?["'](?:{names})["']""")
    files = [path for path in Path("python/fairweir").rglob("*.py") if "lemmas" not in path.parts]
    assert [path for path in files if compared.search(path.read_text()) and path.stem != "buffer"] == []


def test_a_trace_that_its_elements_cannot_play_keeps_its_verdict(tmp_path: Path) -> None:
    """TA may decrease, but no link of the simulator has a negative rate."""
    text = DUMMY.replace("import Model", "import Model, PacketPath").replace(
        "    has_jitter", "    packets = PacketPath(varies=True, delays=False)\n    has_jitter"
    )
    falls = "        system.TA = system.reals('TA')\n        system.require('t', system.TA[2] < system.TA[1] - 1)\n"
    where = write(tmp_path, text.replace("        for t in range(system", f"{falls}        for t in range(system"))
    evidence = gather(verify(case(where, "utilization>=1.5")))
    assert evidence.played is None
    assert evidence.unplayed.startswith("the elements that `dummy` names do not fit: ")


def test_an_option_without_effect_on_a_users_model_is_an_error(call: Call, tmp_path: Path) -> None:
    write(tmp_path, DUMMY)
    code, _, refusal = call("verify", "cc_qdel", "--model", "mine.py:Dummy", "--jitter", "2")
    assert code == 2
    assert "--jitter has no effect with --model mine.py:Dummy" in refusal
