"""The studio reads and writes scenarios in its folder only."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir.documents.toml import parse_document
from fairweir.errors import ConfigError
from fairweir.studio.folder import ChangedOnDiskError, Folder

TEXT = 'duration = "1s"\n[link.a]\nrate = "1Mbps"\n[[flow]]\ncca = "reno"\nrtprop = "10ms"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "secret.toml").write_text("password = 1", encoding="utf-8")
    return Folder(inner)


def test_a_scenario_is_opened_saved_and_listed(folder: Folder) -> None:
    opened = folder.open("a.toml")
    assert opened.text == TEXT
    version = folder.save("a.toml", TEXT + "# more\n", opened.version)
    assert folder.open("a.toml").version == version != opened.version
    assert list(folder.names()) == ["a.toml"]


@pytest.mark.parametrize("name", ["../secret.toml", "/etc/passwd", "link.toml", "sub/../../secret.toml", ""])
def test_nothing_outside_is_read_or_written(folder: Folder, name: str) -> None:
    (folder.root / "link.toml").symlink_to(folder.root.parent / "secret.toml")
    with pytest.raises(ConfigError, match=r"outside|cannot be read"):
        folder.open(name)
    with pytest.raises(ConfigError, match="outside"):
        folder.save(name, "x", None)
    assert (folder.root.parent / "secret.toml").read_text(encoding="utf-8") == "password = 1"


def test_a_file_that_changed_on_disk_is_not_overwritten(folder: Folder) -> None:
    opened = folder.open("a.toml")
    (folder.root / "a.toml").write_text("# of another process\n", encoding="utf-8")
    with pytest.raises(ChangedOnDiskError, match="changed on disk"):
        folder.save("a.toml", "mine", opened.version)
    with pytest.raises(ChangedOnDiskError):
        folder.save("a.toml", "mine", "")  # a new file, which exists already
    assert folder.open("a.toml").text == "# of another process\n"
    folder.save("a.toml", "mine", None)
    assert folder.open("a.toml").text == "mine"


@pytest.mark.parametrize("name", ["a.py", "a", ".bashrc"])
def test_only_scenarios_are_written(folder: Folder, name: str) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.toml"):
        folder.save(name, "x", None)


def test_a_shipped_scenario_is_opened_by_name_and_not_written(folder: Folder) -> None:
    assert "bbr" in folder.open("three-rtprops").text
    with pytest.raises(ConfigError):
        folder.save("three-rtprops", "x", None)


@pytest.mark.parametrize(
    "part", ['cca = "../mine.py:Mine"', 'cca = "/tmp/mine.bpf.c"', 'cca = { name = "../mine.so" }']
)
def test_a_scenario_names_no_file_outside(folder: Folder, part: str) -> None:
    document = parse_document(TEXT.replace('cca = "reno"', part), None)
    with pytest.raises(ConfigError, match="outside") as error:
        folder.check_files(document, folder.root)
    assert error.value.key == "flow.0.cca"


def test_a_trace_outside_is_refused(folder: Folder) -> None:
    document = parse_document(TEXT.replace('rate = "1Mbps"', 'trace = "../../etc/hosts"'), None)
    with pytest.raises(ConfigError, match="outside") as error:
        folder.check_files(document, folder.root)
    assert error.value.key == "link.a.trace"
