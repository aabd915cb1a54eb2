"""`acklog pki` where it ends in the middle: killed, or by a disk that is full. What is there can be gone on with."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command

STEPS_OF_INIT = 5
"""Both files synced, both renamed, and the directory synced."""
SYNCS_OF_A_PAIR = 3
"""The key, the certificate, the directory."""


class FullDisk:
    """From the `nth` sync on there is no room, until it is emptied."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, nth: int, code: int = errno.ENOSPC) -> None:
        self._left, self._code, self._sync = nth, code, os.fsync
        self._patches = monkeypatch
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, descriptor: int) -> None:
        self._left -= 1
        if self._left <= 0:
            raise OSError(self._code, os.strerror(self._code))
        self._sync(descriptor)

    def empty(self) -> None:
        self._patches.setattr(os, "fsync", self._sync)


def pki(*words: str) -> CommandRun:
    return run_command("pki", *words, "--json")


def done(*words: str) -> CommandRun:
    ran = pki(*words)
    assert ran.exit_code == ExitCode.DONE, ran.stderr
    return ran


def content(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(path.iterdir())}


def kill_at(nth: int, act: Callable[[], object]) -> int:
    """A process of its own that ends before its `nth` sync or rename, without a chance to tidy up. Its exit code."""
    child = os.fork()
    if child == 0:
        left = [nth]

        def counted(real: Callable[..., object]) -> Callable[..., object]:
            def call(*given: object) -> object:
                left[0] -= 1
                if not left[0]:
                    os._exit(9)
                return real(*given)

            return call

        os.fsync, os.replace = counted(os.fsync), counted(os.replace)  # type: ignore[assignment]
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class TestInit:
    @pytest.mark.parametrize("is_empty", [False, True], ids=["a new directory", "an empty directory"])
    @pytest.mark.parametrize("step", range(1, STEPS_OF_INIT + 1))
    def test_killed(self, tmp_path: Path, step: int, is_empty: bool) -> None:
        where = tmp_path / "pki"
        if is_empty:
            where.mkdir()
        assert kill_at(step, lambda: pki("init", str(where))) == 9
        if not (where / "ca.pem").exists():
            hint = str(pki("show", "--dir", str(where)).error["hint"])
            assert "acklog pki init" in hint
            done("init", str(where))
        assert sorted(content(where)) == ["ca-key.pem", "ca.pem"]
        done("issue", "client", "a", "--dir", str(where))

    def test_the_steps_are_all(self, tmp_path: Path) -> None:
        assert kill_at(STEPS_OF_INIT + 1, lambda: pki("init", str(tmp_path / "pki"))) == 0

    def test_killed_twice(self, tmp_path: Path) -> None:
        where = tmp_path / "pki"
        for step in (4, 1, 2, 3, 4):
            assert kill_at(step, lambda: pki("init", str(where))) == 9
        done("init", str(where))
        assert sorted(content(where)) == ["ca-key.pem", "ca.pem"]

    @pytest.mark.parametrize("nth", [1, 2, 3])
    def test_a_full_disk_leaves_no_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
        disk = FullDisk(monkeypatch, nth=nth)
        ran = pki("init", str(tmp_path / "pki"))
        assert ran.exit_code == ExitCode.USAGE
        assert "No space left on device" in ran.error["detail"]
        assert list(tmp_path.iterdir()) == []
        disk.empty()
        done("init", str(tmp_path / "pki"))

    def test_a_full_disk_leaves_an_empty_directory_empty(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        disk = FullDisk(monkeypatch, nth=2)
        assert pki("init", str(tmp_path)).exit_code == ExitCode.USAGE
        assert list(tmp_path.iterdir()) == []
        disk.empty()
        done("init", str(tmp_path))
        assert tmp_path.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("names", [["ca-key.pem"], ["notes.txt"], [".ca-key.pem.new", "client-a.pem"], ["ca.pem"]])
    def test_what_somebody_has_there_is_not_touched(self, tmp_path: Path, names: list[str]) -> None:
        for name in names:
            (tmp_path / name).write_bytes(b"mine")
        ran = pki("init", str(tmp_path))
        assert ran.exit_code == ExitCode.USAGE
        assert ran.error["field"] == "DIR"
        assert content(tmp_path) == dict.fromkeys(sorted(names), b"mine")

    def test_a_file_is_no_directory(self, tmp_path: Path) -> None:
        (tmp_path / "pki").write_bytes(b"mine")
        ran = pki("init", str(tmp_path / "pki"))
        assert (ran.exit_code, (tmp_path / "pki").read_bytes()) == (ExitCode.USAGE, b"mine")
        assert "is there already" in ran.error["detail"]

    def test_an_authority_that_lost_its_certificate_is_not_made_anew(self, tmp_path: Path) -> None:
        where = tmp_path / "pki"
        done("init", str(where))
        (where / "ca.pem").unlink()
        ran = pki("show", "--dir", str(where))
        assert "acklog pki init" not in ran.error["hint"]
        assert "from a backup" in ran.error["hint"]
        assert pki("init", str(where)).exit_code == ExitCode.USAGE
        assert sorted(content(where)) == ["ca-key.pem"]


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (errno.ENOSPC, "Make room on its disk"),
        (errno.EDQUOT, "Make room on its disk"),
        (errno.EROFS, "is mounted for reading only"),
        (errno.EACCES, "as the user whose directory it is"),
        (errno.EPERM, "as the user whose directory it is"),
        (errno.EIO, ""),
    ],
    ids=lambda each: errno.errorcode[each] if isinstance(each, int) else "",
)
def test_what_to_do_goes_by_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, hint: str) -> None:
    FullDisk(monkeypatch, nth=1, code=code)
    said = str(pki("init", str(tmp_path / "pki")).error.get("hint", ""))
    assert hint in said
    assert bool(said) == bool(hint)


class TestPartly:
    """Exit code 2 says that nothing has changed. Where a part was done it is 1, and what was done is said."""

    @pytest.fixture
    def where(self, tmp_path: Path) -> Path:
        done("init", str(tmp_path / "pki"))
        for name in ("a", "b", "c"):
            done("issue", "client", name, "--dir", str(tmp_path / "pki"))
        return tmp_path / "pki"

    def test_renewal(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = content(where)
        disk = FullDisk(monkeypatch, nth=SYNCS_OF_A_PAIR + 1)
        ran = pki("renew", "--all", "--dir", str(where))
        disk.empty()
        assert ran.exit_code == ExitCode.FAILED
        assert [each["name"] for each in ran.document["renewed"]] == ["a"]
        assert "No space left on device" in ran.error["detail"]
        assert "Done before that: client-a-key.pem, client-a.pem." in ran.error["hint"]
        after = content(where)
        assert {name for name in after if after[name] != before[name]} == {"client-a.pem", "client-a-key.pem"}
        assert len(done("renew", "--all", "--dir", str(where)).document["renewed"]) == 3

    def test_for_people(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        FullDisk(monkeypatch, nth=2 * SYNCS_OF_A_PAIR + 1)
        ran = run_command("pki", "renew", "--all", "--dir", str(where))
        assert ran.exit_code == ExitCode.FAILED
        assert [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("client")] == ["a", "b"]
        assert "Make room on its disk, and do it again." in ran.stderr

    def test_rotation(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        disk = FullDisk(monkeypatch, nth=3)
        ran = pki("rotate-ca", "--dir", str(where))
        disk.empty()
        assert (ran.exit_code, ran.stdout) == (ExitCode.FAILED, "")
        assert "Done before that: ca-next-key.pem." in ran.error["hint"]
        done("rotate-ca", "--dir", str(where))

        disk = FullDisk(monkeypatch, nth=3 * SYNCS_OF_A_PAIR + 1)
        ran = pki("renew", "--all", "--dir", str(where))
        disk.empty()
        assert ran.exit_code == ExitCode.FAILED
        assert len(ran.document["renewed"]) == 3
        assert "ca-key.pem" in ran.error["hint"]
        done("renew", "--all", "--dir", str(where))
        done("rotate-ca", "--finish", "--dir", str(where))

    def test_a_pair_whose_second_file_is_not_in_its_place(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        replace = os.replace

        def refuse(source: Path, target: Path) -> None:
            if Path(target).name == "client-a.pem":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            replace(source, target)

        monkeypatch.setattr(os, "replace", refuse)
        ran = pki("renew", "--all", "--dir", str(where))
        assert (ran.exit_code, ran.stdout) == (ExitCode.FAILED, "")
        assert ran.error["hint"] == "Done before that: client-a-key.pem."

    def test_not_all_names_are_said(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("app.commands.pki_session.WRITTEN_SHOWN_MAX", 2)
        FullDisk(monkeypatch, nth=2 * SYNCS_OF_A_PAIR + 1)
        hint = str(pki("renew", "--all", "--dir", str(where)).error["hint"])
        assert hint.endswith("Done before that: client-a-key.pem, client-a.pem and 2 more.")

    def test_nothing_was_done(self, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = content(where)
        FullDisk(monkeypatch, nth=2)
        ran = pki("renew", "--all", "--dir", str(where))
        assert (ran.exit_code, ran.stdout, content(where)) == (ExitCode.USAGE, "", before)
