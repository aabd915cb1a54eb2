"""`acklog fsck` on data directories that a real server made: sound ones, and each kind of damage to them."""

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acklog.wire.identifiers import parse_message_id
from tests.integration.conftest import ServerMaker
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = pytest.mark.integration

MESSAGES = 12
SETTINGS = {
    "ACKLOG_NODE_SYNC_INTERVAL_MS": "3600000",  # the journal keeps everything
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 << 20),  # less to copy
}
Damage = Callable[[Path], None]


def fsck(directory: Path, *options: str) -> CommandRun:
    return run_command("fsck", str(directory), *options)


def fill(server: ServerProcess) -> str:
    """Messages in two partitions, some done, some given back; returns the topic's id."""
    server.request("PUT", "/topics/orders", {"partitions": 2})
    message_id = None
    for partition in (0, 1):
        for number in range(MESSAGES):
            sent = server.send("orders", f"message {number} of {partition}", partition=partition, dedupId=f"{number}")
            message_id = parse_message_id(sent["messageId"])
    taken = server.receive("orders", max=8)
    server.ack(*[message["receipt"] for message in taken[:6]])
    server.request("POST", "/nack", {"receipts": [message["receipt"] for message in taken[6:]], "delaySeconds": 60})
    assert message_id is not None
    return message_id.topic_id


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a server left that was stopped in order."""
    return _made(tmp_path_factory.mktemp("stopped"), is_killed=False)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a server left that was killed; only its journal is sure to be on the disk."""
    return _made(tmp_path_factory.mktemp("killed"), is_killed=True)


def _made(directory: Path, *, is_killed: bool) -> Path:
    server = ServerProcess(directory / "data", directory / "log", environment=SETTINGS)
    with server:
        fill(server)
        if not is_killed:
            server.stop()
            server.start()  # a second life: what the first one wrote is covered
            server.send("orders", "of the second life", partition=0)
            server.stop()
    return directory / "data"


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[Path], Path]:
    def copied(directory: Path) -> Path:
        return Path(shutil.copytree(directory, tmp_path / "data"))

    return copied


def digest(directory: Path) -> dict[str, str]:
    """Every file's content and times."""
    return {
        str(path.relative_to(directory)): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    } | {str(path.relative_to(directory)): "directory" for path in directory.rglob("*") if path.is_dir()}


def kinds(result: CommandRun, severity: str = "error") -> set[str]:
    document = result.document
    return {finding["kind"] for finding in document["findings"] if finding["severity"] == severity}


class TestSoundDirectories:
    def test_after_an_orderly_stop(self, stopped: Path) -> None:
        before = digest(stopped)
        result = fsck(stopped, "--records")
        assert (result.exit_code, result.stderr) == (0, "")
        lines = result.stdout.splitlines()
        assert lines[0].split() == ["TOPIC", "PARTITIONS", "SEGMENTS", "BATCHES", "MESSAGES", "BYTES", "PROBLEMS"]
        assert lines[1].split()[:2] == ["orders", "2"]
        assert lines[1].split()[4] == "25"
        assert "last stop  in order" in result.stdout
        assert lines[-1] == "Sound: 25 messages verified."
        assert digest(stopped) == before

    def test_after_a_kill(self, killed: Path) -> None:
        before = digest(killed)
        result = fsck(killed, "--json")
        assert result.exit_code == 0, result.stdout
        document = result.document
        assert document["isSound"] is True
        assert document["findings"] == []
        assert document["stoppedInOrder"] is False
        assert document["journal"]["framesToReplay"] > 0
        assert [topic["messages"] for topic in document["topics"]] == [2 * MESSAGES]
        assert digest(killed) == before

    def test_on_a_terminal(self, stopped: Path) -> None:
        result = run_command("fsck", str(stopped), is_terminal=True)
        assert result.exit_code == 0
        assert "\x1b[" in result.stdout
        assert "Sound: 25 messages verified." in result.stdout
        assert run_command("fsck", str(stopped), "--quiet", is_terminal=True).stderr == ""

    def test_what_a_power_cut_left_to_the_journal(self, killed: Path, copy: Callable[[Path], Path]) -> None:
        """Acks that are in the journal alone are read from there."""
        directory = copy(killed)
        for segment in (directory / "partitions").rglob("*.log"):
            segment.write_bytes(b"")
        result = fsck(directory, "--json")
        document = result.document
        assert result.exit_code == 0, result.stdout
        assert document["journal"]["messagesOnlyThere"] == 2 * MESSAGES

    def test_a_partition_of_which_the_journal_has_everything_is_not_missed(
        self, killed: Path, copy: Callable[[Path], Path]
    ) -> None:
        directory = copy(killed)
        for number in range(2):
            shutil.rmtree(partition(directory, number))
        result = fsck(directory, "--json")
        assert (result.exit_code, result.document["findings"]) == (0, [])
        assert [topic["messages"] for topic in result.document["topics"]] == [2 * MESSAGES]

    def test_a_torn_tail_is_a_note(self, killed: Path, copy: Callable[[Path], Path]) -> None:
        directory = copy(killed)
        with segment(directory, 0).open("ab") as file:
            file.write(b"half a batch")
        result = fsck(directory, "--json")
        assert result.exit_code == 0, result.stdout
        assert kinds(result, "note") == {"TAIL_TORN"}

    def test_a_snapshot_that_the_log_does_not_need(self, stopped: Path, copy: Callable[[Path], Path]) -> None:
        """The whole delivery log is there: it says the same."""
        directory = copy(stopped)
        (partition(directory, 0) / "delivery" / "snapshot").unlink()
        assert fsck(directory).exit_code == 0

    def test_a_journal_of_which_nothing_was_needed(self, stopped: Path, copy: Callable[[Path], Path]) -> None:
        directory = copy(stopped)
        shutil.rmtree(directory / "journal")
        result = fsck(directory, "--json")
        assert result.exit_code == 0, result.stdout
        assert kinds(result, "warning") == {"JOURNAL_ABSENT"}

    def test_a_deleted_topic_leaves_a_note_at_most(self, make_server: ServerMaker) -> None:
        server = make_server(environment=SETTINGS).start()
        fill(server)
        server.request("DELETE", "/topics/orders")
        server.kill()
        result = fsck(server.data_directory, "--json")
        assert result.exit_code == 0, result.stdout
        assert kinds(result, "warning") == set()


class TestRefusals:
    def test_while_a_server_runs(self, server: ServerProcess) -> None:
        result = fsck(server.data_directory)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"a server uses {server.data_directory}" in result.stderr
        assert "Stop the server first" in result.stderr
        assert fsck(server.data_directory, "--json").error["exitCode"] == 2

    def test_a_server_does_not_start_during_a_check(self, stopped: Path) -> None:
        from storage.disk.port import FileLockedError
        from storage.disk.read_only_disk import ReadOnlyDisk
        from storage.disk.real_disk import RealDisk

        checking = ReadOnlyDisk(stopped)
        checking.lock("lock")
        with pytest.raises(FileLockedError):
            RealDisk(stopped).lock("lock")
        ReadOnlyDisk(stopped).lock("lock")  # another check may
        checking.close()

    @pytest.mark.parametrize(("name", "said"), [("missing", "No such file"), ("", "not a data directory")])
    def test_what_is_no_data_directory(self, tmp_path: Path, name: str, said: str) -> None:
        result = fsck(tmp_path / name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr

    def test_without_a_directory(self) -> None:
        result = run_command("fsck")
        assert result.exit_code == 2
        assert "DATA_DIR" in result.stderr

    def test_a_reader_that_is_gone(self, stopped: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "acklog.command", "fsck", str(stopped)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141
        process.stderr.close()


def topic_id(directory: Path) -> str:
    return next((directory / "partitions").iterdir()).name.rpartition("-")[0]


def partition(directory: Path, number: int) -> Path:
    return directory / "partitions" / f"{topic_id(directory)}-{number}"


def segment(directory: Path, number: int) -> Path:
    return next(partition(directory, number).glob("*.log"))


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def flip_text(path: Path, text: bytes) -> None:
    flip(path, path.read_bytes().index(text))


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def forge_index(directory: Path) -> None:
    """A row that points elsewhere, with a checksum that is right."""
    from storage.log.index import index_from_bytes, index_to_bytes

    path = next(partition(directory, 0).glob("*.index"))
    index, fields = index_from_bytes(path.read_bytes(), 4096)
    index.positions[0] += 7
    path.write_bytes(index_to_bytes(index, fields))


def execute(directory: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(directory / "coordination.sqlite")) as connection:
        assert connection.execute(statement, values).rowcount > 0
        connection.commit()


def remove_topic_row(directory: Path) -> None:
    execute(directory, "DELETE FROM items WHERE key = ?", "/acklog/topics/orders")


DAMAGES_OF_A_STOPPED_DIRECTORY: dict[str, tuple[Damage, str]] = {
    "a bit in a message": (lambda d: flip_text(segment(d, 0), b"message 7 of 0"), "BATCH_DAMAGED"),
    "a bit in a stamp": (lambda d: flip(segment(d, 0), 9), "BATCH_DAMAGED"),
    "a segment cut short": (lambda d: cut(segment(d, 1), 0.6), "BATCH_DAMAGED"),
    "a segment cut between batches": (lambda d: segment(d, 1).write_bytes(b""), "BATCHES_MISSING"),
    "a segment removed": (lambda d: segment(d, 1).unlink(), "LOG_MISSING"),
    "a partition removed": (lambda d: shutil.rmtree(partition(d, 1)), "LOG_MISSING"),
    "a wrong index": (forge_index, "INDEX_WRONG"),
    "the partitions removed": (lambda d: shutil.rmtree(d / "partitions"), "PARTITIONS_MISSING"),
    "a bit in the snapshot": (lambda d: flip(partition(d, 0) / "delivery" / "snapshot", 30), "SNAPSHOT_DAMAGED"),
    "the delivery log removed": (lambda d: shutil.rmtree(partition(d, 0) / "delivery"), "LOG_MISSING"),
    "a bit in the recovery points": (lambda d: flip(d / "recovery-points", 20), "RECOVERY_POINTS_DAMAGED"),
    "the recovery points removed": (lambda d: (d / "recovery-points").unlink(), "RECOVERY_POINTS_DAMAGED"),
    "a bit in meta.json": (lambda d: flip_text(d / "meta.json", b"checksum"), "META_DAMAGED"),
    "meta.json removed": (lambda d: (d / "meta.json").unlink(), "META_MISSING"),
    "a newer format": (
        lambda d: (d / "meta.json").write_text('{"meta":{"formatVersion":9},"checksum":1}'),
        "FORMAT_UNKNOWN",
    ),
    "the coordination file removed": (lambda d: (d / "coordination.sqlite").unlink(), "COORDINATION_MISSING"),
    "the coordination file overwritten": (lambda d: flip(d / "coordination.sqlite", 3), "COORDINATION_DAMAGED"),
    "the coordination file cut short": (lambda d: cut(d / "coordination.sqlite", 0.5), "COORDINATION_DAMAGED"),
    "a topic's entry is gone": (remove_topic_row, "PARTITION_ORPHANED"),
    "an entry that is not JSON": (
        lambda d: execute(d, "UPDATE items SET value = ? WHERE key = ?", b"{", "/acklog/topics/orders"),
        "ENTRY_UNREADABLE",
    ),
    "progress beyond the log": (
        lambda d: execute(
            d,
            "UPDATE items SET value = ? WHERE key LIKE '/acklog/offsets/%'",
            b'{"partitions":{"0":{"offset":999,"doneAbove":0,"leaderEpoch":1,"version":1}}}',
        ),
        "PROGRESS_BEYOND_LOG",
    ),
}
DAMAGES_OF_A_KILLED_DIRECTORY: dict[str, tuple[Damage, str]] = {
    "a bit in a frame with others behind it": (lambda d: _flip_in_journal(d, b"message 3 of 0"), "JOURNAL_DAMAGED"),
    "the journal removed": (lambda d: shutil.rmtree(d / "journal"), "JOURNAL_MISSING"),
    "the journal's files removed": (lambda d: _empty(d / "journal"), "JOURNAL_RECORD_DAMAGED"),
    "one of the journal's files removed": (lambda d: (d / "journal/00000001.journal").unlink(), "JOURNAL_MISSING"),
    "one of the journal's files cut short": (lambda d: cut(d / "journal/00000000.journal", 0.5), "JOURNAL_SHORT"),
    "zeros at the journal's end": (
        lambda d: _zero_from(d / "journal/00000000.journal", 10 * 4096),
        "JOURNAL_ENDS_EARLY",
    ),
}


def _flip_in_journal(directory: Path, text: bytes) -> None:
    (path,) = (path for path in (directory / "journal").iterdir() if text in path.read_bytes())
    flip_text(path, text)


def _zero_from(path: Path, position: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:position] + bytes(len(content) - position))


def _empty(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()


def assert_found(directory: Path, kind: str) -> dict[str, Any]:
    before = digest(directory)
    result = fsck(directory, "--json")
    assert result.exit_code == 1, result.stdout + result.stderr
    assert kind in kinds(result), result.stdout
    assert digest(directory) == before
    document: dict[str, Any] = result.document
    assert document["isSound"] is False
    return document


class TestDamage:
    @pytest.mark.parametrize("what", DAMAGES_OF_A_STOPPED_DIRECTORY)
    def test_of_a_stopped_directory_is_found(self, what: str, stopped: Path, copy: Callable[[Path], Path]) -> None:
        damage, kind = DAMAGES_OF_A_STOPPED_DIRECTORY[what]
        directory = copy(stopped)
        damage(directory)
        assert_found(directory, kind)

    @pytest.mark.parametrize("what", DAMAGES_OF_A_KILLED_DIRECTORY)
    def test_of_a_killed_directory_is_found(self, what: str, killed: Path, copy: Callable[[Path], Path]) -> None:
        damage, kind = DAMAGES_OF_A_KILLED_DIRECTORY[what]
        directory = copy(killed)
        damage(directory)
        assert_found(directory, kind)

    def test_the_text_says_where_what_and_what_to_do(self, stopped: Path, copy: Callable[[Path], Path]) -> None:
        directory = copy(stopped)
        flip_text(segment(directory, 0), b"message 7 of 0")
        path = segment(directory, 0).relative_to(directory)
        (next(partition(directory, 1).glob("*.index"))).unlink()
        (directory / "holiday.jpg").write_bytes(b"")
        result = fsck(directory)
        assert result.exit_code == 1
        assert f"  {path}: offsets 7 to 7 (from byte " in result.stdout
        assert "error: the messages cannot be read" in result.stdout
        assert "  -> Restore the segment from a backup" in result.stdout
        assert "warning: the file is not Acklog's" in result.stdout
        assert "  holiday.jpg: " in result.stdout
        assert "note: a segment has no index yet" in result.stdout
        assert result.stdout.splitlines()[-1] == "NOT SOUND: 1 error, 1 warning, 1 note."
        assert result.stdout.splitlines()[1].split()[-1] == "1", "problems of the topic"

    def test_only_so_many_findings_are_kept(self, stopped: Path, copy: Callable[[Path], Path]) -> None:
        directory = copy(stopped)
        for number in (2, 5, 8):
            flip_text(segment(directory, 0), b"message %d of 0" % number)
        document = fsck(directory, "--json", "--max-findings", "2").document
        assert (len(document["findings"]), document["leftOut"], document["counts"]["error"]) == (2, 1, 3)
