"""Seals of stored answers: verification, and requirements on the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairweir.documents import sealed
from fairweir.documents.atomic_write import write_text
from fairweir.documents.sealed import NotBelievedError
from fairweir.formal.certificates.certificate import Certificate, save


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    sealed.sealed({})
    return tmp_path / "state" / "fairweir" / "seal.key"


def test_a_seal_is_of_this_document_and_this_key(key: Path) -> None:
    document = sealed.sealed({"outcome": "proved", "cpu_s": 1.5})
    assert sealed.is_sealed(json.loads(json.dumps(document)))
    assert not sealed.is_sealed({**document, "outcome": "refuted"})
    assert not sealed.is_sealed({**document, "more": 1})
    assert not sealed.is_sealed({name: value for name, value in document.items() if name != "seal"})
    for seal in ("", "\ud800", "0" * 64, None, 7):
        assert not sealed.is_sealed({**document, "seal": seal})
    assert key.stat().st_mode & 0o777 == 0o600
    key.write_bytes(bytes(32))
    assert not sealed.is_sealed(document)


def test_a_key_that_others_may_read_or_that_is_no_key_seals_nothing(key: Path) -> None:
    document = sealed.sealed({"outcome": "proved"})
    key.chmod(0o640)
    assert not sealed.is_sealed(document)
    assert "seal" not in sealed.sealed({"outcome": "proved"})
    key.chmod(0o600)
    assert sealed.is_sealed(document)
    other = key.with_name("other")
    key.rename(other)
    key.symlink_to(other)
    assert not sealed.is_sealed(document)
    key.unlink()
    key.write_bytes(b"short")
    key.chmod(0o600)
    assert not sealed.is_sealed(document)


def test_nothing_is_sealed_where_no_key_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    document = sealed.sealed({"outcome": "proved"})
    assert document == {"outcome": "proved"}
    assert not sealed.is_sealed({**document, "seal": "0" * 64})


def test_links_in_a_prepared_folder_are_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "out"
    folder.mkdir()
    names = ("question.smt2", "certificate.txt", "trace.json")
    for name in names:
        for link in (name, f"{name}.part"):
            (folder / link).symlink_to(victim if link == name else tmp_path / "made")
    victim.write_text("mine")
    save(Certificate(["r 1 0"], 1, 0, 0.0), "(check-sat)\n", folder)
    write_text(folder / "trace.json", "{}")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "made").exists()
    for name, text in zip(names, ("(check-sat)\n", "r 1 0\n", "{}"), strict=True):
        assert (folder / name).read_text() == text
        assert not (folder / name).is_symlink()
    # The file has the mode of any new file, and no draft remains, even if the file cannot be written.
    (folder / "plain").write_text("")
    assert (folder / "trace.json").stat().st_mode == (folder / "plain").stat().st_mode
    with pytest.raises(IsADirectoryError):
        write_text(folder, "text")
    assert not list(tmp_path.glob(".*.part"))
    assert not list(folder.glob(".*.part"))


def test_special_files_are_not_read(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{")
    (tmp_path / "digits").write_text("[" + "9" * 10_000 + "]")
    for name in ("pipe", "bytes", "digits", "absent", "."):
        with pytest.raises(NotBelievedError):
            sealed.read(tmp_path / name)
