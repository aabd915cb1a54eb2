"""A disk that is full: sends are refused, everything else goes on, and it recovers by itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import ServerMaker
from tests.support.block_device import MIB, LoopFileSystem, skip_unless_mountable
from tests.support.full_disk import fill_up
from tests.support.server_process import Answer, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.root]

SMALL_JOURNAL = {
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(2 * MIB),
    "ACKLOG_NODE_FREE_CHECK_INTERVAL_MS": "50",
    "ACKLOG_NODE_BALLAST_BYTES": str(MIB),
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """To be named before `make_server`: the servers on it must be gone before it is unmounted."""
    skip_unless_mountable(tmp_path)
    with LoopFileSystem.create(tmp_path / "small.img", tmp_path / "small", size_bytes=64 * MIB).mounted() as mounted:
        yield mounted


def try_send(server: ServerProcess, *, size_bytes: int = 200_000) -> Answer:
    return server.request("POST", "/messages", {"queue": "orders", "body": "x" * size_bytes, "partition": 0})


def fill(server: ServerProcess) -> tuple[int, Answer]:
    """Send until the server takes no more: how many it took, and its refusal."""
    for stored in range(1000):
        answer = try_send(server)
        if answer.status != 201:
            return stored, answer
    raise AssertionError("the disk never got full")


def check_that_all_but_sends_go_on(server: ServerProcess, count: int) -> None:
    """Reads, receives, acks, gives back: none of them may need the space that sends have run out of."""
    assert server.request("GET", "/topics/orders/partitions/0/records?offset=0").status == 200
    seen = 0
    while messages := server.receive("orders", max=20, visibilitySeconds=600):
        acked = server.ack(*[message["receipt"] for message in messages])
        assert acked.status == 200, acked
        seen += len(messages)
    assert seen == count
    assert try_send(server).code == "STORAGE_FULL"
    assert server.request("GET", "/healthz").status == 200


class TestBelowTheReserve:
    def test_sends_are_refused_and_acks_go_on_until_space_is_freed(
        self, small_disk: Path, make_server: ServerMaker
    ) -> None:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(20 * MIB))
        environment = {**SMALL_JOURNAL, "ACKLOG_NODE_RESERVE_BYTES": str(8 * MIB)}
        server = make_server(data_directory=small_disk / "data", environment=environment).start()
        stored, refusal = fill(server)
        assert stored > 20
        assert (refusal.status, refusal.code) == (503, "STORAGE_FULL")
        assert int(refusal.headers["retry-after"]) >= 1
        assert refusal.document["retriable"] is True
        check_that_all_but_sends_go_on(server, stored)
        ballast.unlink()
        again = wait_until(lambda: try_send(server).status == 201, seconds=20, what="a send after space was freed")
        assert again
        assert len(server.receive("orders")) == 1
        server.restart()
        assert server.receive("orders", "other", max=1000, maxBytes=16 * MIB)[0]["body"] == "x" * 200_000


class TestNoSpaceAtAll:
    def test_what_does_not_fit_is_refused_and_what_was_stored_stays(
        self, small_disk: Path, make_server: ServerMaker
    ) -> None:
        """Without a reserve the device itself says that it is full (ENOSPC), in the middle of whatever is written."""
        environment = {**SMALL_JOURNAL, "ACKLOG_NODE_RESERVE_BYTES": "0"}
        server = make_server(data_directory=small_disk / "data", environment=environment).start()
        server.send("orders", "first", partition=0)
        ballast = small_disk / "ballast"
        fill_up(ballast)
        stored, refusal = fill(server)
        assert (refusal.status, refusal.code) == (503, "STORAGE_FULL")
        assert server.request("GET", "/topics/orders/partitions/0/records?offset=0").status == 200
        ballast.unlink()
        wait_until(lambda: try_send(server).status == 201, seconds=20, what="a send after space was freed")
        log_end = server.request("GET", "/topics/orders/partitions/0/records?offset=0&maxBytes=16777216").document
        offsets = [record["offset"] for record in log_end["records"]]
        assert offsets[: stored + 1] == list(range(stored + 1))
        server.kill()
        server.start()
        again = server.request("GET", "/topics/orders/partitions/0/records?offset=0&maxBytes=16777216").document
        assert again["records"] == log_end["records"]


class TestStartOnAFullDisk:
    def test_it_serves_and_can_be_worked_off(self, small_disk: Path, make_server: ServerMaker) -> None:
        """Somebody else takes the last byte: what is kept back is enough for a start, acks and deletions."""
        environment = {
            **SMALL_JOURNAL,
            "ACKLOG_NODE_RESERVE_BYTES": str(12 * MIB),
            "ACKLOG_NODE_BALLAST_BYTES": str(8 * MIB),
            "ACKLOG_NODE_SYNC_INTERVAL_MS": "50",
        }
        server = make_server(data_directory=small_disk / "data", environment=environment).start()
        for number in range(30):
            server.send("orders", f"message {number}", partition=0)
        kept_back = server.data_directory / "ballast"
        wait_until(kept_back.exists, seconds=20, what="the ballast")
        server.kill()
        filler = small_disk / "filler"
        fill_up(filler)
        server.start()
        assert not kept_back.exists()
        done = 0
        while messages := server.receive("orders", max=5):
            assert server.ack(*[message["receipt"] for message in messages]).status == 200
            done += len(messages)
        assert done == 30
        refusal = try_send(server)
        assert (refusal.status, refusal.code) == (503, "STORAGE_FULL")
        assert server.request("DELETE", "/topics/orders").status == 204
        server.restart()
        filler.unlink()
        wait_until(kept_back.exists, seconds=20, what="the ballast again")
        assert try_send(server).status == 201

    def test_without_anything_kept_back_it_says_what_is_wrong(self, small_disk: Path, make_server: ServerMaker) -> None:
        environment = {**SMALL_JOURNAL, "ACKLOG_NODE_BALLAST_BYTES": "0"}
        server = make_server(data_directory=small_disk / "data", environment=environment).start()
        server.kill()
        fill_up(small_disk / "filler")
        server.launch()
        assert server.wait() == 1
        assert "no space left on the disk" in server.output()
        assert "sqlite3" not in server.output()
        assert "Traceback" not in server.output()
        (small_disk / "filler").unlink()
        server.start()
