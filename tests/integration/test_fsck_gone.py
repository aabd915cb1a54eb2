"""`acklog fsck` and starts where a part of the data directory is gone: on purpose, harmlessly, or lost."""

import shutil
from pathlib import Path

import pytest

from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

WAIT_SECONDS = 30
SETTINGS = {"ACKLOG_NODE_RETENTION_INTERVAL_MS": "300"}


def server_of(tmp_path: Path) -> ServerProcess:
    return ServerProcess(tmp_path / "data", tmp_path / "log", environment=SETTINGS)


def test_a_partition_that_was_decommissioned_and_freed_is_not_missed(tmp_path: Path) -> None:
    with server_of(tmp_path) as server:
        config = {"retentionMs": 1000, "segmentBytes": 1 << 20}
        server.request("PUT", "/topics/t", {"partitions": 3, "config": config})
        for number in range(3):
            server.send("t", number, partition=1)
        assert len(server.receive("t", "g", max=10, autoAck="true")) == 3
        server.request("PUT", "/topics/t/decommissioned", {"partitions": [1]})
        wait_until(
            lambda: server.request("GET", "/topics/t/partitions/1").document["life"] == "gone",
            seconds=WAIT_SECONDS,
            what="the partition is freed",
        )
        server.stop()
        result = run_command("fsck", str(tmp_path / "data"), "--json")
        assert (result.exit_code, result.document["findings"]) == (0, []), result.stdout


def test_zeroed_leader_epochs_are_a_warning_and_made_anew_by_a_start(tmp_path: Path) -> None:
    with server_of(tmp_path) as server:
        server.request("PUT", "/topics/t", {"partitions": 1})
        server.send("t", "a message", partition=0)
        server.stop()
        [path] = (tmp_path / "data" / "partitions").glob("*/leader-epochs")
        before = path.read_bytes()
        path.write_bytes(bytes(len(before)))
        result = run_command("fsck", str(tmp_path / "data"), "--json")
        assert result.exit_code == 0, result.stdout
        assert [each["kind"] for each in result.document["findings"]] == ["EPOCHS_DAMAGED"]
        server.start()
        server.stop()
        assert path.read_bytes() == before


def test_a_start_without_the_partitions_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with server_of(tmp_path) as server:
        server.stop()
        shutil.rmtree(tmp_path / "data" / "partitions")
        with pytest.raises(SystemExit) as ended:
            run_command("serve", "--data-dir", str(tmp_path / "data"), "--port", "0")
        said = capsys.readouterr().err
        assert ended.value.code == 1
        assert "partitions/ is missing" in said
        assert "backup" in said
        assert not (tmp_path / "data" / "partitions").exists()
