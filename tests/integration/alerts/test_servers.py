"""Alerts of one server: each fires for its fault, made on real processes, and is over with it."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from acklog.wire.identifiers import parse_message_id
from docs.dashboards import CERTIFICATES, DASHBOARDS
from tests.integration.alerts.alert_watch import AlertWatch, alert_watch, needs_prometheus
from tests.integration.conftest import ServerMaker
from tests.support.authority import OwnAuthority
from tests.support.block_device import MIB, LoopFileSystem, skip_unless_mountable
from tests.support.full_disk import fill_up
from tests.support.server_process import Answer, ServerProcess
from tests.support.shifted_clock import shifted_clock
from tests.support.slow_disk import SlowDisk
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.xdist_group("alerts"), needs_prometheus]


@pytest.fixture
def watch(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AlertWatch]:
    with alert_watch(tmp_path / "alerts", request.node.name) as found:
        yield found


SMALL_DISK = {
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(MIB),
    "ACKLOG_NODE_FREE_CHECK_INTERVAL_MS": "50",
    "ACKLOG_NODE_BALLAST_BYTES": str(MIB),
    "ACKLOG_NODE_RESERVE_BYTES": str(4 * MIB),
}
IDLE = 300


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """To be named before `make_server`: the servers on it must be gone before it is unmounted."""
    skip_unless_mountable(tmp_path)
    with LoopFileSystem.create(tmp_path / "small.img", tmp_path / "small", size_bytes=64 * MIB).mounted() as mounted:
        yield mounted


def succeed(server: ServerProcess, method: str, target: str, document: object = None) -> dict[str, Any]:
    answer = server.request(method, target, document)
    assert answer.status < 300, (method, target, answer)
    return dict(answer.document) if answer.content else {}


def try_send(server: ServerProcess, topic: str, **fields: object) -> Answer:
    return server.request("POST", "/messages", {"queue": topic, "body": 1, "partition": 0, **fields})


def all_acked(server: ServerProcess, topic: str, group: str) -> None:
    while messages := server.receive(topic, group):
        assert server.ack(*[message["receipt"] for message in messages]).status == 200


# --- what producers and consumers do ---------------------------------------------------------------------------------

OLD_S = 1000
DAY_S = 86_400
CONSUMERS = {"ACKLOG_NODE_RETENTION_INTERVAL_MS": "200"}


def nobody_receives(server: ServerProcess) -> None:
    """Somebody did once; then he stays away."""
    server.send("unread", 1, partition=0)
    all_acked(server, "unread", "away")
    server.send("unread", 2, partition=0)


def blocks(server: ServerProcess) -> None:
    document = {"mode": "keyOrdered", "settings": {"onExhausted": "block", "maxAttempts": 1}}
    succeed(server, "PUT", "/groups/careful", document)
    server.send("in-order", 1, key="k")
    gives_back(server, "in-order", "careful")


def gives_back(server: ServerProcess, topic: str, group: str) -> None:
    [message] = server.receive(topic, group)
    succeed(server, "POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})


def clumsy(server: ServerProcess) -> None:
    """A dead letter, which then cannot be sent back to where each message needs a key."""
    server.send("jobs", 2, partition=0)
    gives_back(server, "jobs", "clumsy")


def sends_letters_back(server: ServerProcess) -> None:
    succeed(server, "POST", "/groups/clumsy/redrive", {"to": "table"})


def overruns(server: ServerProcess) -> None:
    """Its topic keeps one file of a MiB."""
    for _ in range(5):
        server.send("short", "x" * 600_000, partition=0)


def prepared(server: ServerProcess) -> None:
    """All that has to be there before the faults: groups have been given something."""
    succeed(server, "PUT", "/topics/metered", {"partitions": 1, "config": {"sendMessagesPerSecond": 1}})
    succeed(server, "PUT", "/topics/short", {"partitions": 1, "config": {"retentionBytes": 0, "segmentBytes": MIB}})
    succeed(server, "PUT", "/topics/table", {"partitions": 1, "config": {"cleanupPolicy": "compact"}})
    succeed(server, "PUT", "/groups/clumsy", {"settings": {"maxAttempts": 1}})
    for topic, group in (("jobs", "clumsy"), ("short", "slow")):
        server.send(topic, 1, partition=0)
        all_acked(server, topic, group)


@pytest.mark.faults
def test_what_producers_and_consumers_do(watch: AlertWatch, make_server: ServerMaker, tmp_path: Path) -> None:
    """Also: who sends ten times what he may; and a message that nobody has done for a long time."""
    earlier = make_server(environment=shifted_clock(tmp_path, behind_s=OLD_S)).start()
    earlier.send("late", 1, partition=0)
    assert earlier.receive("late", "behind", visibilitySeconds=1)
    earlier.stop()
    server = make_server(environment=CONSUMERS).start()
    prepared(server)
    watch.until_scraped([server.base_url])
    for begin in (nobody_receives, blocks, clumsy, overruns):
        begin(server)
    wait_until(lambda: server.receive("jobs.clumsy.dlq", "looks"), seconds=20, what="a dead letter")
    sends_letters_back(server)
    watch.until_firing(keep=lambda: [try_send(server, "metered") for _ in range(2)])
    all_acked(server, "unread", "away")
    all_acked(server, "late", "behind")
    all_acked(server, "short", "slow")
    succeed(server, "DELETE", "/topics/jobs.clumsy.dlq")
    succeed(server, "POST", "/groups/careful/keys/skip", {"topic": "in-order", "key": "k"})
    watch.until_resolved()


# --- disks ------------------------------------------------------------------------------------------------------------


@pytest.mark.faults
def test_a_slow_disk(watch: AlertWatch, make_server: ServerMaker, tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    server = make_server(environment=disk.environment).start()
    watch.until_quiet([server.base_url])
    disk.slow_down(400)
    watch.until_firing(keep=lambda: server.send("orders", 1))
    disk.mend()
    watch.until_resolved(keep=lambda: server.send("orders", 1))


@pytest.mark.faults
@pytest.mark.root
def test_a_full_disk(watch: AlertWatch, small_disk: Path, make_server: ServerMaker) -> None:
    server = make_server(data_directory=small_disk / "data", environment=SMALL_DISK).start()
    watch.until_quiet([server.base_url])
    fill_up(small_disk / "filler")
    watch.until_firing(keep=lambda: try_send(server, "orders"))
    (small_disk / "filler").unlink()
    watch.until_resolved(keep=lambda: try_send(server, "orders"))


@pytest.mark.faults
def test_a_damaged_journal(watch: AlertWatch, make_server: ServerMaker, tmp_path: Path) -> None:
    """The server answers, and says that it serves nothing of it. (One whose disk fails while it runs ends.)"""
    server = make_server(environment={"ACKLOG_NODE_SYNC_INTERVAL_MS": "3600000"}).start()
    for number in range(20):
        server.send("orders", f"message {number}", partition=0)
    server.kill()
    whole = Path(shutil.copytree(server.data_directory / "journal", tmp_path / "whole"))
    [damaged] = [path for path in (server.data_directory / "journal").iterdir() if b"message 3" in path.read_bytes()]
    flip_a_bit(damaged, damaged.read_bytes().index(b"message 3"))
    server.launch()
    server.wait_until_listening()
    watch.prometheus.scrape([server.base_url])
    watch.until_firing()
    server.kill()
    shutil.copytree(whole, server.data_directory / "journal", dirs_exist_ok=True)
    server.start()
    watch.prometheus.scrape([server.base_url])
    watch.until_resolved()


# --- damage -----------------------------------------------------------------------------------------------------------

DAMAGE = {
    "ACKLOG_NODE_DELIVERY_SEGMENT_BYTES": "4096",
    "ACKLOG_NODE_DELIVERY_SNAPSHOT_BYTES": "2048",
    "ACKLOG_NODE_SCRUB_MIN_AGE_MS": "0",
    "ACKLOG_NODE_SCRUB_INTERVAL_MS": "1000",
    "ACKLOG_NODE_SCRUB_CHECKPOINT_MS": "500",
    "ACKLOG_NODE_COMPACTION_LOOK_INTERVAL_MS": "250",
    "ACKLOG_NODE_COMPACTION_RETRY_MS": "1000",
}
"""A minute of the compaction's patience is a second, as one of the rules."""


def directory_of(server: ServerProcess, message_id: str) -> Path:
    """Of the partition that the message is in."""
    found = parse_message_id(message_id)
    assert found is not None
    return server.data_directory / "partitions" / f"{found.topic_id}-0"


def flip_a_bit(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


def stored(server: ServerProcess) -> tuple[Path, Path, Path]:
    """The partitions' directories of a topic whose group has done much, one with a message, and one to compact."""
    for number in range(130):
        sent = server.send("refused", number, partition=0)
    for message in server.receive("refused", max=100):
        server.ack(message["receipt"])
    rotten = server.send("rotten", "a message", partition=0)
    config = {"cleanupPolicy": "compact", "segmentBytes": MIB, "maxCompactionLagMs": 0, "minCompactionLagMs": 0}
    succeed(server, "PUT", "/topics/compacted", {"partitions": 1, "config": config})
    compacted = server.send("compacted", "an earlier message", key="k")
    server.stop()
    return tuple(directory_of(server, each["messageId"]) for each in (sent, rotten, compacted))  # type: ignore[return-value]


@pytest.mark.faults
def test_damaged_files(watch: AlertWatch, make_server: ServerMaker) -> None:
    server = make_server(environment=DAMAGE).start()
    refused, rotten, compacted = stored(server)
    flip_a_bit(refused / "delivery" / "snapshot", 30)
    for directory in (rotten, compacted):
        flip_a_bit(min(directory.glob("*.log")), -20)  # a pass may have begun another file by now, which is empty
    server.start()
    server.send("rotten", "a later message", partition=0)
    server.send("compacted", "a later message", key="k")
    watch.prometheus.scrape([server.base_url])
    watch.until_firing()
    for topic in ("refused", "rotten", "compacted"):
        succeed(server, "DELETE", f"/topics/{topic}")
    watch.until_resolved()


# --- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.faults
def test_a_certificate_that_ends_and_one_that_cannot_be_used(
    watch: AlertWatch, make_server: ServerMaker, tmp_path: Path
) -> None:
    """Prometheus asks in clear, which is taken beside https: what it asks for is the same."""
    authority, other = OwnAuthority(tmp_path / "pki"), OwnAuthority(tmp_path / "other")
    key = Path(authority.issue("server", days=10).key)
    other_key = Path(other.issue("server").key)
    options = ("--pki", str(authority.directory), "--tls-accept-clear", "--tls-check-interval-ms", "200")
    server = make_server(*options).start()
    watch.until_scraped([server.base_url])
    own_key = key.read_bytes()
    key.write_bytes(other_key.read_bytes())
    watch.until_firing()
    [panel] = [each for board in DASHBOARDS for each in board.panels if each.title == CERTIFICATES]
    [left] = watch.prometheus.query(panel.query)
    assert 9 * DAY_S < float(left["value"][1]) <= 10 * DAY_S
    key.write_bytes(own_key)
    authority.issue("server", days=90)
    watch.until_resolved()


# --- what is used up --------------------------------------------------------------------------------------------------


def stands_still_half_of_the_time(server: ServerProcess) -> None:
    server.signal(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
        began_s = time.monotonic()
        wait_until(lambda: time.monotonic() - began_s > PAUSE_S, seconds=10, what="the end of the pause")
    finally:
        server.signal(signal.SIGCONT)


PAUSE_S = 0.3
USED = {"ACKLOG_NODE_WAITING_RECEIVES_MAX": "10"}


@pytest.mark.faults
def test_a_server_that_is_used_up(watch: AlertWatch, make_server: ServerMaker) -> None:
    """By connections that do nothing, by receives that wait, and by whatever else takes the processor from it."""
    server = make_server(environment=USED, descriptors=(700, 700)).start()
    succeed(server, "PUT", "/topics/waited-for", {"partitions": 1})
    watch.until_quiet([server.base_url])
    with ExitStack() as connections, ThreadPoolExecutor(9) as consumers:
        waiting = [consumers.submit(server.receive, "waited-for", f"group-{n}", waitSeconds=20) for n in range(9)]
        for _ in range(IDLE):
            connections.enter_context(server.open_connection())
        watch.until_firing(keep=lambda: stands_still_half_of_the_time(server))
        server.send("waited-for", 1)
        for each in waiting:
            each.result()
    watch.until_resolved()


@pytest.mark.faults
def test_a_server_that_stood_still(make_server: ServerMaker, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """With more patience than elsewhere: the threshold, which is seconds, is no shorter than in life."""
    server = make_server().start()
    with alert_watch(tmp_path / "alerts", request.node.name, minute_s=3) as watch:
        watch.until_quiet([server.base_url])
        for _ in range(5):
            server.send("orders", 1, delaySeconds=2)
        server.signal(signal.SIGSTOP)
        began_s = time.monotonic()
        wait_until(lambda: time.monotonic() - began_s > 9, seconds=20, what="the messages are late")
        server.signal(signal.SIGCONT)
        watch.until_firing(beside=frozenset({"AcklogEventLoopLate"}))
        watch.until_resolved()
