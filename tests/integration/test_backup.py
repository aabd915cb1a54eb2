"""Backups of a real server and their restore into others: what was acknowledged before the cut is there, at its offset,
and groups are where they were; whatever is killed, and whenever."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acklog.backup.backup_run import BackupRun
from acklog.backup.backup_set import BackupSet
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.manifest import Manifest
from acklog.backup.pace import Pace
from acklog.backup.restore_plan import restore_plan
from acklog.backup.restore_run import Restored, RestoreRun
from acklog.client.client import Client
from acklog.client.copies import Copies
from acklog.errors import TopicNotFound, TopicRestoring
from tests.integration.conftest import ServerMaker
from tests.support.backed_up import (
    KilledCopies,
    KilledStore,
    ProcessKilled,
    messages_of,
    positions_of,
    until_not_killed,
)
from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

UNPACED = Pace(None, now_ms=lambda: 0, pause=lambda _: None)


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.base_url) as client:
        yield client


@pytest.fixture
def other(make_server: ServerMaker, tmp_path: Path) -> ServerProcess:
    """A second server, on an empty directory of its own."""
    return make_server(data_directory=tmp_path / "other").start()


def now_ms() -> int:
    return int(time.time() * 1000)


def back_up(copies: Copies, store: Any, *topics: str) -> Manifest:
    BackupSet(store).begin()
    return BackupRun(copies, store, UNPACED, server="test", now_ms=now_ms).take(topics or ("*",))


def restore(copies: Copies, store: Any, manifest: Manifest, **options: Any) -> Restored:
    plans = restore_plan(manifest, **options)
    return RestoreRun(copies, store, UNPACED, now_ms=now_ms).restore(manifest, plans)


def filled(client: Client, topic: str = "orders", *, messages: int = 60) -> None:
    """A topic of which one group has done some, holes among it, and given one back twice."""
    client.topics.create(topic, 2)
    for number in range(messages):
        client.send(topic, {"number": number}, key=f"k{number % 7}", tags=["even"] if number % 2 == 0 else None)
    received = list(client.receive(topic, group="billing", max_messages=messages // 2))
    client.ack([received[0], received[1], received[3], received[-1]])
    for _ in range(2):
        client.nack(received[2], delay_s=0, reason="no stock")
        [again] = list(client.receive(topic, group="billing", max_messages=1))
        received[2] = again
    done = (received[0], received[1], received[3], received[-1])
    client.nack([each for each in received if each not in done], delay_s=0)


def test_a_backup_and_its_restore_by_the_command(
    client: Client, server: ServerProcess, other: ServerProcess, tmp_path: Path
) -> None:
    filled(client)
    expected, positions = messages_of(client, "orders"), positions_of(client, "billing", "orders")
    place = str(tmp_path / "backups")
    taken = run_command("backup", "take", place, "--json", environment={"ACKLOG_URL": server.base_url})
    assert taken.exit_code == 0, taken.stderr
    assert taken.document["topics"][0]["name"] == "orders"
    assert run_command("backup", "verify", place).exit_code == 0
    restored = run_command("restore", place, "--yes", "--json", environment={"ACKLOG_URL": other.base_url})
    assert restored.exit_code == 0, restored.stderr
    assert restored.document["topics"][0]["messages"] == 60
    with Client(other.base_url) as there:
        assert messages_of(there, "orders") == expected
        assert positions_of(there, "billing", "orders") == positions
        attempts = {
            (each.partition, each.offset): each.attempt
            for each in there.receive("orders", group="billing", max_messages=100)
        }
        assert max(attempts.values()) >= 3
        sent = there.send("orders", "new", key="k1")
        assert sent.offset == 1 + max(offset for partition, offset, *_ in expected if partition == sent.partition)


def test_what_was_acknowledged_before_the_run_began_is_in_it_while_others_send(
    client: Client, server: ServerProcess, other: ServerProcess, tmp_path: Path
) -> None:
    client.topics.create("orders", 4)
    sent: list[tuple[int, int, Any]] = []
    done: list[tuple[int, int]] = []
    has_enough, stop = threading.Event(), threading.Event()

    def work() -> None:
        with Client(server.base_url) as own:
            number = 0
            while not stop.is_set():
                result = own.send("orders", number)
                sent.append((result.partition, result.offset, number))
                for message in own.receive("orders", group="billing", max_messages=1 + number % 2):
                    if message.offset % 3:
                        own.ack(message)
                        done.append((message.partition, message.offset))
                number += 1
                if number == 150:
                    has_enough.set()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert has_enough.wait(60)
        sent_before, done_before = list(sent), list(done)
        store = DirectoryStore(tmp_path / "backups")
        manifest = back_up(client.copies, store)
    finally:
        stop.set()
        worker.join()
    server.kill()
    with Client(other.base_url) as there:
        restore(there.copies, store, manifest)
        found = {(partition, offset): body for partition, offset, _, body in messages_of(there, "orders")}
        assert [each for each in sent_before if found.get(each[:2]) != each[2]] == []
        ends = {each.partition: each.high_watermark for each in there.topics.get("orders").partition_states}
        assert all(
            progress <= ends[partition] for partition, (progress, _) in positions_of(there, "billing", "orders").items()
        )
        delivered = set()
        while batch := there.receive("orders", group="billing", max_messages=500):
            delivered |= {(each.partition, each.offset) for each in batch}
        assert delivered.isdisjoint(done_before)
        assert delivered | set(done) >= found.keys()


def test_what_an_earlier_run_has_is_not_read_again(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acklog.backup.chunk_chain.SEALED_BYTES", 2_000)
    monkeypatch.setattr("acklog.backup.partition_backup.SEALED_BYTES", 2_000)
    filled(client)
    store = DirectoryStore(tmp_path / "backups")
    read: list[int] = []
    first = back_up(client.copies, store)
    client.send("orders", "more", partition=0)
    run = BackupRun(client.copies, store, UNPACED, server="test", now_ms=now_ms, advanced=read.append)
    second = run.take()
    sealed = {each.name for copy in first.topics[0].partitions for each in copy.chunks if each.size_bytes >= 2_000}
    assert sealed
    assert sealed <= second.content_names().keys()
    assert sum(read) < sum(size or 0 for size in first.content_names().values()) / 2
    assert BackupSet(store).verify() == ([], len(first.content_names().keys() | second.content_names().keys()))
    pruned = BackupSet(store).prune(1)
    assert pruned.runs == [first.run_id]
    assert BackupSet(store).verify() == ([], len(second.content_names()))


@pytest.mark.parametrize("is_late", [False, True])
def test_a_backup_that_is_killed_at_any_step_goes_on(
    client: Client, other: ServerProcess, tmp_path: Path, is_late: bool
) -> None:
    filled(client, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    runs: list[list[str]] = []

    def take(step: int) -> Manifest:
        runs.append(BackupSet(store).run_ids())
        return back_up(KilledCopies(client.copies, step, is_late=is_late), store)

    manifest, kills = until_not_killed(take)
    assert kills > 5
    assert not any(runs), "a run that was killed is no backup"
    with Client(other.base_url) as there:
        restore(there.copies, store, manifest)
        assert messages_of(there, "orders") == messages_of(client, "orders")


def test_a_backup_that_is_killed_at_any_write_leaves_no_backup_but_a_whole_one(client: Client, tmp_path: Path) -> None:
    filled(client, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    _, kills = until_not_killed(lambda step: back_up(client.copies, KilledStore(store, step)))
    assert kills >= 3
    assert BackupSet(store).verify()[0] == []
    assert len(BackupSet(store).run_ids()) == 1


@pytest.mark.parametrize("is_late", [False, True])
def test_a_restore_that_is_killed_at_any_step_goes_on_and_is_not_seen_before_its_end(
    client: Client, other: ServerProcess, tmp_path: Path, is_late: bool
) -> None:
    filled(client, messages=30)
    client.topics.create("others", 1)
    client.send("others", "one")
    client.schedules.create("others", "daily", {"report": 1}, every_seconds=86_400)
    client.send("others", "later", delay_seconds=3_600)
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store)
    with Client(other.base_url) as there:
        there.topics.create("unrelated", 1)
        restored, kills = until_not_killed(
            lambda step: restore(KilledCopies(there.copies, step, is_late=is_late), store, manifest)
        )
        assert kills > 8
        assert [each.topic for each in restored.topics] == ["orders", "others"]
        assert messages_of(there, "orders") == messages_of(client, "orders")
        assert positions_of(there, "billing", "orders") == positions_of(client, "billing", "orders")
        assert [
            each.body for each in [there.scheduled.get(each.schedule_id) for each in there.scheduled.list("others")]
        ] == ["later"]
        assert [each.schedule for each in there.schedules.list("others")] == ["daily"]


def test_nothing_is_done_with_a_topic_before_its_restore_is_finished(
    client: Client, other: ServerProcess, tmp_path: Path
) -> None:
    filled(client, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store)
    with Client(other.base_url) as there:
        served: list[int] = []

        def bring(step: int) -> Restored:
            if step:
                for use in _uses(there):
                    with contextlib.suppress(TopicRestoring, TopicNotFound):
                        use()
                        served.append(step)
            return restore(KilledCopies(there.copies, step), store, manifest)

        until_not_killed(bring)
        assert served == []
        assert there.receive("orders", group="early", max_messages=1)


def _uses(client: Client) -> list[Callable[[], object]]:
    return [lambda: client.receive("orders", group="early"), lambda: client.records("orders", 0)]


def _is_restoring(server: ServerProcess, topic: str) -> bool:
    answer = server.request("GET", f"/topics/{topic}")
    return answer.status == 200 and answer.document.get("restoring", False) is True


def test_the_server_is_killed_in_the_middle_of_a_restore(client: Client, other: ServerProcess, tmp_path: Path) -> None:
    filled(client)
    client.topics.delete_before("orders", offsets={0: 5})
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store)
    for step in (4, 5, 6, 7, 8):
        with Client(other.base_url) as there, pytest.raises(ProcessKilled):
            restore(KilledCopies(there.copies, step, is_late=True), store, manifest)
        other.kill()
        other.start()
    with Client(other.base_url) as there:
        restore(there.copies, store, manifest)
        assert messages_of(there, "orders") == messages_of(client, "orders")
        assert positions_of(there, "billing", "orders") == positions_of(client, "billing", "orders")
        states = there.topics.get("orders").partition_states
        assert [each.log_start for each in states] == [
            each.log_start for each in client.topics.get("orders").partition_states
        ]


def test_into_the_same_server_under_another_name_and_up_to_a_time(client: Client, tmp_path: Path) -> None:
    client.topics.create("orders", 1)
    early = [client.send("orders", number) for number in range(5)]
    page = client.records("orders", 0, offset=early[-1].offset)
    time.sleep(0.005)
    late = now_ms()
    while now_ms() <= late:
        pass
    client.send("orders", "late")
    client.ack(list(client.receive("orders", group="billing", max_messages=10)))
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store)
    assert page.messages
    restored = restore(client.copies, store, manifest, names={"orders": "orders-before"}, until_ms=late)
    assert restored.topics[0].topic == "orders-before"
    assert [body for *_, body in messages_of(client, "orders-before")] == [0, 1, 2, 3, 4]
    assert positions_of(client, "billing", "orders-before") == {0: (5, 0)}
    again = run_command("restore", str(tmp_path / "backups"), "--yes", environment={"ACKLOG_URL": client.url})
    assert again.exit_code == 1
    assert "there is a topic orders that this restore did not make" in again.stderr


def test_a_restore_is_given_up(client: Client, other: ServerProcess, tmp_path: Path) -> None:
    filled(client, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store)
    with Client(other.base_url) as there:
        with pytest.raises(ProcessKilled):
            restore(KilledCopies(there.copies, 6), store, manifest)
        assert _is_restoring(other, "orders")
        given_up = run_command(
            "restore", str(tmp_path / "backups"), "--give-up", "--json", environment={"ACKLOG_URL": there.url}
        )
        assert given_up.document == {"givenUp": ["orders"]}
        assert there.topics.list() == []


def test_a_topic_that_goes_meanwhile_is_told(client: Client, tmp_path: Path) -> None:
    filled(client, messages=30)
    filled(client, "passing", messages=30)
    store = DirectoryStore(tmp_path / "backups")
    copies = _Deleting(client, "passing")
    manifest = back_up(copies, store)
    assert manifest.gone == ["passing"]
    assert [each.name for each in manifest.topics] == ["orders"]


class _Deleting(Copies):
    """Deletes a topic before its first page is read."""

    def __init__(self, client: Client, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._has_gone = False

    def perform(self, call: Any) -> Any:
        if not self._has_gone and call.request.target.startswith(f"/topics/{self._topic}/partitions/0/records"):
            self._has_gone = True
            self._client.topics.delete(self._topic)
            self._client.topics.create(self._topic, 2)
        return self._client.copies.perform(call)


def test_what_is_removed_before_it_is_read_is_told(client: Client, server: ServerProcess, tmp_path: Path) -> None:
    filled(client, messages=30)
    store = DirectoryStore(tmp_path / "backups")

    class Purging(Copies):
        def __init__(self) -> None:
            self.has_purged = False

        def perform(self, call: Any) -> Any:
            if not self.has_purged and "/partitions/0/records" in call.request.target:
                self.has_purged = True
                client.topics.delete_before("orders", offsets={0: 4})
            return client.copies.perform(call)

    manifest = back_up(Purging(), store)
    [gap] = manifest.topics[0].partitions[0].gaps
    assert (gap.start, gap.end) == (0, 4)
    assert "removed" in gap.reason
