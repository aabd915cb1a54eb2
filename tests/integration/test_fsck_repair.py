"""`acklog fsck --repair` on directories of a real server: refused for their damage, repaired, and served again."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_fsck import digest, flip, fsck, kinds
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

DONE = 120
LEFT = 10
SETTINGS = {
    "ACKLOG_NODE_DELIVERY_SEGMENT_BYTES": "4096",
    "ACKLOG_NODE_DELIVERY_SNAPSHOT_BYTES": "2048",
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 << 20),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 130 messages 120 are done, one by one, so that the delivery log was trimmed."""
    directory = tmp_path_factory.mktemp("trimmed")
    with ServerProcess(directory / "data", directory / "log", environment=SETTINGS) as server:
        server.request("PUT", "/topics/orders", {"partitions": 1})
        for number in range(DONE + LEFT):
            server.send("orders", f"message {number}")
        for message in server.receive("orders", max=DONE // 2) + server.receive("orders", max=DONE // 2):
            server.ack(message["receipt"])
        server.stop()
    assert not (delivery(directory / "data") / f"{0:020d}.log").exists(), "it was not trimmed"
    return directory / "data"


@pytest.fixture
def data(stopped: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped, tmp_path / "data"))


def delivery(directory: Path) -> Path:
    (partition,) = (directory / "partitions").iterdir()
    return partition / "delivery"


def on(directory: Path) -> ServerProcess:
    return ServerProcess(directory, directory.with_name("log"), environment=SETTINGS)


def the_group(document: dict[str, Any]) -> dict[str, Any]:
    (partition,) = document["repair"]["partitions"]
    (group,) = partition["groups"]
    assert (partition["topic"], partition["partition"], group["group"]) == ("orders", 0, "workers")
    return dict(group)


def received(server: ServerProcess) -> list[str]:
    bodies = []
    while messages := server.receive("orders", max=100):
        bodies += [message["body"] for message in messages]
        server.ack(*[message["receipt"] for message in messages])
    return bodies


def test_a_damaged_snapshot(data: Path) -> None:
    flip(delivery(data) / "snapshot", 30)
    with on(data) as server:
        answer = server.request("POST", "/messages", {"queue": "orders", "body": "refused"})
        assert (answer.status, answer.code) == (503, "RECORDS_CORRUPT")
        assert "acklog fsck --repair" in answer.document["detail"]
        assert "the checksum of partitions/" in answer.document["detail"]
        server.stop()
    before = digest(data)
    assert kinds(fsck(data, "--json")) == {"SNAPSHOT_DAMAGED"}
    dry = fsck(data, "--repair")
    assert (dry.exit_code, digest(data)) == (1, before)
    assert "Nothing has been changed. --yes carries it out." in dry.stdout
    assert "orders 0: the groups' state is damaged" in dry.stdout

    result = fsck(data, "--repair", "--yes", "--json")
    assert result.exit_code == 0, result.stdout + result.stderr
    group = the_group(result.document)
    assert (group["basis"], group["doneBelow"], group["projectedOffset"]) == ("PROJECTED", DONE, DONE)
    assert group["mayBeDeliveredAgain"] == LEFT
    assert (delivery(data) / "snapshot.damaged-1").exists()
    assert fsck(data).exit_code == 0
    again = fsck(data, "--repair", "--yes", "--json")
    assert (again.exit_code, again.document["repair"]["partitions"]) == (0, [])

    with on(data) as server:
        server.send("orders", "new")
        assert received(server) == [*[f"message {number}" for number in range(DONE, DONE + LEFT)], "new"]
        server.stop()
    assert fsck(data).exit_code == 0


def test_an_older_snapshot(data: Path) -> None:
    """Put back beside a delivery log that was trimmed for a newer one: what was done between the two is gone."""
    older = (delivery(data) / "snapshot").read_bytes()
    with on(data) as server:
        assert len(received(server)) == LEFT
        for number in range(DONE + LEFT, 2 * DONE):
            server.send("orders", f"message {number}")
            assert received(server) == [f"message {number}"]
        server.send("orders", "left")
        server.stop()
    (delivery(data) / "snapshot").write_bytes(older)
    with on(data) as server:
        for method, path, body in (
            ("POST", "/messages", {"queue": "orders", "body": "refused"}),
            ("GET", "/messages?queue=orders&group=workers", None),
            ("GET", "/topics/orders/partitions/0/records?offset=0", None),
        ):
            answer = server.request(method, path, body)
            assert (answer.status, answer.code) == (503, "RECORDS_CORRUPT"), path
            assert "acklog fsck --repair" in answer.document["detail"]
        server.stop()
    assert kinds(fsck(data, "--json")) == {"SNAPSHOT_BEHIND"}
    assert "nothing to repair" not in fsck(data, "--repair").stdout
    result = fsck(data, "--repair", "--yes", "--json")
    assert result.exit_code == 0, result.stdout + result.stderr
    group = the_group(result.document)
    assert (group["basis"], group["doneBelow"], group["mayBeDeliveredAgain"]) == ("LOG", 2 * DONE, 1)
    assert kinds(fsck(data, "--json")) <= {"FILE_KEPT"}
    with on(data) as server:
        assert received(server) == ["left"]
        server.stop()


def test_a_rotten_batch_of_the_delivery_log(data: Path) -> None:
    """And the snapshot is gone, so that the log is needed."""
    (delivery(data) / "snapshot").unlink()
    first = min(delivery(data).glob("*.log"))
    content = first.read_bytes()
    flip(first, content.index(b"AKB1", content.index(b"AKB1", 4) + 4) + 90)
    assert kinds(fsck(data, "--json")) == {"BATCH_DAMAGED", "SNAPSHOT_MISSING"}
    result = fsck(data, "--repair", "--yes", "--json")
    assert result.exit_code == 0, result.stdout + result.stderr
    group = the_group(result.document)
    with on(data) as server:
        assert server.send("orders", "new")["offset"] == DONE + LEFT
        bodies = received(server)
        assert bodies[-1] == "new"
        assert {f"message {number}" for number in range(DONE, DONE + LEFT)} <= set(bodies), "something was skipped"
        assert len(bodies) - 1 <= group["mayBeDeliveredAgain"]
        server.stop()


def test_the_rest_has_to_be_sound(data: Path) -> None:
    (delivery(data) / "snapshot").unlink()
    (data / "coordination.sqlite").rename(data / "elsewhere")
    before = digest(data)
    result = fsck(data, "--repair", "--yes")
    assert (result.exit_code, digest(data)) == (2, before)
    assert "COORDINATION_MISSING" in result.stderr
    assert "acklog rebuild" in result.stderr


def test_a_node_takes_it_from_the_others(data: Path) -> None:
    (delivery(data) / "snapshot").unlink()
    (data / "role.json").write_text('{"nodeId":1}\n')
    before = digest(data)
    result = fsck(data, "--repair", "--yes")
    assert (result.exit_code, digest(data)) == (2, before)
    assert "the other replicas have" in result.stderr
    key = data.parent / "master.key"
    key.write_text("07" * 32)
    key.chmod(0o600)
    with_key = fsck(data, "--records", "--master-key-file", str(key))
    assert (with_key.exit_code, "its data keys are in etcd" in with_key.stderr) == (2, True)


def test_what_repair_needs(data: Path) -> None:
    assert fsck(data, "--yes").exit_code == 2
    with on(data) as server:
        assert fsck(data, "--repair", "--yes").exit_code == 2
        server.stop()
    result = fsck(data, "--repair")
    assert result.exit_code == 0
    assert "there is nothing to repair" in result.stdout
