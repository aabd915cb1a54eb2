"""Backups of a real server and their restore into others: what was acknowledged before the cut is there, at its offset,
and groups are where they were; whatever is killed, and whenever."""

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from acklog.backup.backup_error import BackupDamaged
from acklog.backup.backup_run import BackupRun
from acklog.backup.backup_set import BackupSet
from acklog.backup.copy_tools import CopyTools
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.manifest import Manifest
from acklog.backup.pace import BackupPace
from acklog.backup.restore_plan import restore_plan
from acklog.backup.restore_run import RestoreOutcome, RestoreRun
from acklog.client import copy_calls
from acklog.client.client import Client
from acklog.client.copies import Copies
from acklog.errors import TopicNotFound, TopicRestoring
from acklog.messages import OutgoingMessage
from tests.integration.conftest import ServerMaker
from tests.support.backed_up import (
    InterruptedCopies,
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

UNPACED = BackupPace(None, now_ms=lambda: 0, pause=lambda _: None)


_numbers = count(1)


@pytest.fixture
def client(shared_server: ServerProcess) -> Iterator[Client]:
    with Client(shared_server.base_url) as client:
        yield client


@pytest.fixture
def topic() -> str:
    """Of the test's own."""
    return f"backed-up-{next(_numbers)}"


@pytest.fixture
def other(make_server: ServerMaker, tmp_path: Path) -> ServerProcess:
    """A second server, on an empty directory of its own."""
    return make_server(data_directory=tmp_path / "other").start()


def now_ms() -> int:
    return int(time.time() * 1000)


def back_up(copies: Copies, store: Any, *topics: str) -> Manifest:
    BackupSet(store).begin()
    return BackupRun(CopyTools(copies, store, UNPACED), server="test", now_ms=now_ms).take(topics or ("*",))


def restore(copies: Copies, store: Any, manifest: Manifest, **options: Any) -> RestoreOutcome:
    plans = restore_plan(manifest, **options)
    return RestoreRun(CopyTools(copies, store, UNPACED), now_ms=now_ms).restore(manifest, plans)


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
    client: Client, topic: str, other: ServerProcess, tmp_path: Path
) -> None:
    filled(client, topic)
    expected, positions = messages_of(client, topic), positions_of(client, "billing", topic)
    place = str(tmp_path / "backups")
    taken = run_command("backup", "take", place, "--topic", topic, "--json", environment={"ACKLOG_URL": client.url})
    assert taken.exit_code == 0, taken.stderr
    assert [each["name"] for each in taken.document["topics"]] == [topic]
    assert run_command("backup", "verify", place).exit_code == 0
    assert [each["runId"] for each in run_command("backup", "list", place, "--json").document["runs"]] == [
        taken.document["runId"]
    ]
    restored = run_command("restore", place, "--yes", "--json", environment={"ACKLOG_URL": other.base_url})
    assert restored.exit_code == 0, restored.stderr
    assert restored.document["topics"][0]["messages"] == 60
    with Client(other.base_url) as there:
        assert messages_of(there, topic) == expected
        assert positions_of(there, "billing", topic) == positions
        received = there.receive(topic, group="billing", max_messages=100)
        assert max(each.attempt for each in received) >= 3
        sent = there.send(topic, "new", key="k1")
        assert sent.offset == 1 + max(offset for partition, offset, *_ in expected if partition == sent.partition)
    again = run_command("restore", place, "--yes", "--json", environment={"ACKLOG_URL": other.base_url})
    assert again.document["topics"][0]["wasThere"] is True
    pruned = run_command("backup", "prune", place, "--keep", "1", "--yes")
    assert pruned.stdout == "Removed 0 runs and 0 files (0 B).\n"


def test_what_was_acknowledged_before_the_run_began_is_in_it_while_others_send(
    server: ServerProcess, tmp_path: Path
) -> None:
    client = Client(server.base_url)
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
    client.close()
    server.kill()
    shutil.rmtree(server.data_directory)
    server.start()
    with Client(server.base_url) as there:
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
    client: Client, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acklog.backup.chunk_chain.SEALED_BYTES", 2_000)
    monkeypatch.setattr("acklog.backup.partition_backup.SEALED_BYTES", 2_000)
    filled(client, topic)
    store = DirectoryStore(tmp_path / "backups")
    read: list[int] = []
    first = back_up(client.copies, store, topic)
    client.send(topic, "more", partition=0)
    run = BackupRun(CopyTools(client.copies, store, UNPACED, advanced=read.append), server="test", now_ms=now_ms)
    second = run.take([topic])
    sealed = {each.name for copy in first.topics[0].partitions for each in copy.chunks if each.size_bytes >= 2_000}
    assert sealed
    assert sealed <= second.content_names().keys()
    assert sum(read) < sum(size or 0 for size in first.content_names().values()) / 2
    assert BackupSet(store).verify() == ([], len(first.content_names().keys() | second.content_names().keys()))
    pruned = BackupSet(store).prune(1)
    assert pruned.runs == [first.run_id]
    assert BackupSet(store).verify() == ([], len(second.content_names()))


@pytest.mark.parametrize("is_late", [False, True])
def test_a_backup_that_is_killed_at_any_step_goes_on(client: Client, topic: str, tmp_path: Path, is_late: bool) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    runs: list[list[str]] = []

    def take(step: int) -> Manifest:
        runs.append(BackupSet(store).run_ids())
        return back_up(KilledCopies(client.copies, step, is_late=is_late), store, topic)

    manifest, kills = until_not_killed(take)
    assert kills > 5
    assert not any(runs), "a run that was killed is no backup"
    restore(client.copies, store, manifest, names={topic: f"{topic}-back"})
    assert messages_of(client, f"{topic}-back") == messages_of(client, topic)


def test_a_backup_that_is_killed_at_any_write_leaves_no_backup_but_a_whole_one(
    client: Client, topic: str, tmp_path: Path
) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    _, kills = until_not_killed(lambda step: back_up(client.copies, KilledStore(store, step), topic))
    assert kills >= 3
    assert BackupSet(store).verify()[0] == []
    assert len(BackupSet(store).run_ids()) == 1


@pytest.mark.parametrize("is_late", [False, True])
def test_a_restore_that_is_killed_at_any_step_goes_on_and_is_not_seen_before_its_end(
    client: Client, topic: str, tmp_path: Path, is_late: bool
) -> None:
    other = f"{topic}-other"
    names = {topic: f"{topic}-back", other: f"{other}-back"}
    filled(client, topic, messages=30)
    client.topics.create(other, 1)
    client.send(other, "one")
    client.schedules.create(other, "daily", OutgoingMessage({"report": 1}), every_seconds=86_400)
    client.send(other, "later", key="k", delay_seconds=3_600)
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store, topic, other)
    served: list[int] = []
    impatient = Client(client.url, retries_max=0)

    def bring(step: int) -> RestoreOutcome:
        if not _is_whole(client, f"{topic}-back"):
            for use in _uses(impatient, f"{topic}-back"):
                with contextlib.suppress(TopicRestoring, TopicNotFound):
                    use()
                    served.append(step)
        return restore(KilledCopies(client.copies, step, is_late=is_late), store, manifest, names=names)

    restored, kills = until_not_killed(bring)
    impatient.close()
    assert kills >= 6
    assert served == []
    assert [each.topic for each in restored.topics] == [f"{topic}-back", f"{other}-back"]
    assert messages_of(client, f"{topic}-back") == messages_of(client, topic)
    assert positions_of(client, "billing", f"{topic}-back") == positions_of(client, "billing", topic)
    [delayed] = client.scheduled.list(f"{other}-back")
    assert client.scheduled.get(f"{other}-back", delayed.schedule_id).body == "later"
    assert [each.name for each in client.schedules.list(f"{other}-back")] == ["daily"]


def _uses(client: Client, topic: str) -> list[Callable[[], object]]:
    return [lambda: client.receive(topic, group="early"), lambda: client.records(topic, 0)]


def _is_whole(client: Client, topic: str) -> bool:
    try:
        return not client.copies.perform(copy_calls.look_at_restore(topic)).restoring
    except TopicNotFound:
        return False


def test_the_server_is_killed_in_the_middle_of_a_restore(server: ServerProcess, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "backups")
    names = {"orders": "orders-back"}
    with Client(server.base_url) as client:
        filled(client, "orders")
        client.topics.delete_before("orders", offsets={0: 5})
        manifest = back_up(client.copies, store)
        for step in (2, 3, 3):
            with pytest.raises(ProcessKilled):
                restore(KilledCopies(client.copies, step, is_late=True), store, manifest, names=names)
            server.kill()
            server.start()
            client = Client(server.base_url)
        restore(client.copies, store, manifest, names=names)
        assert messages_of(client, "orders-back") == messages_of(client, "orders")
        assert positions_of(client, "billing", "orders-back") == positions_of(client, "billing", "orders")
        starts = [each.log_start for each in client.topics.get("orders-back").partition_states]
        assert starts == [each.log_start for each in client.topics.get("orders").partition_states]


def test_up_to_a_time(client: Client, topic: str, tmp_path: Path) -> None:
    client.topics.create(topic, 1)
    for number in range(5):
        client.send(topic, number)
    late_ms = client.records(topic, 0, offset=4).messages[0].append_time_ms + 1
    while now_ms() <= late_ms:
        pass
    client.send(topic, "late")
    client.ack(list(client.receive(topic, group="billing", max_messages=10)))
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store, topic)
    outcome = restore(client.copies, store, manifest, names={topic: f"{topic}-before"}, until_ms=late_ms)
    assert [each.messages for each in outcome.topics] == [5]
    assert [body for *_, body in messages_of(client, f"{topic}-before")] == [0, 1, 2, 3, 4]
    assert positions_of(client, "billing", f"{topic}-before") == {0: (5, 0)}


def test_a_topic_that_is_there_already_stays_as_it_is(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    back_up(client.copies, DirectoryStore(tmp_path), topic)
    before = messages_of(client, topic)
    refused = run_command("restore", str(tmp_path), "--yes", environment={"ACKLOG_URL": client.url})
    assert refused.exit_code == 1
    assert f"there is a topic {topic} that this restore did not make" in refused.stderr
    assert messages_of(client, topic) == before


def test_a_restore_is_given_up(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path)
    manifest = back_up(client.copies, store, topic)
    with pytest.raises(ProcessKilled):
        restore(KilledCopies(client.copies, 4), store, manifest, names={topic: f"{topic}-back"}, until_ms=now_ms())
    taken = run_command("backup", "take", str(tmp_path), "--topic", f"{topic}*", environment={"ACKLOG_URL": client.url})
    assert taken.exit_code == 1
    assert f"The topic {topic}-back was being restored, and is not in the backup." in taken.stderr
    options = ("--run", manifest.run_id, "--as", f"{topic}={topic}-back", "--give-up", "--json")
    given_up = run_command("restore", str(tmp_path), *options, environment={"ACKLOG_URL": client.url})
    assert given_up.document == {"givenUp": [f"{topic}-back"]}
    with pytest.raises(TopicNotFound):
        client.topics.get(f"{topic}-back")


@pytest.mark.parametrize("damaged", ["runs", "backup.json", "all of it"])
def test_a_restore_is_given_up_whose_backup_cannot_be_read(
    client: Client, topic: str, tmp_path: Path, damaged: str
) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path / "backups")
    manifest = back_up(client.copies, store, topic)
    for name in (f"{topic}-back", f"{topic}-beside"):
        with pytest.raises(ProcessKilled):
            restore(KilledCopies(client.copies, 4), store, manifest, names={topic: name}, until_ms=now_ms())
    place = tmp_path / "backups"
    victims = {"runs": f"runs/{manifest.run_id}.json", "backup.json": "backup.json"}
    if damaged in victims:
        (place / victims[damaged]).write_bytes(b"?")
    else:
        shutil.rmtree(place)
    arguments = ("restore", str(place), "--topic", f"{topic}*", "--give-up")
    unknown = run_command(*arguments, environment={"ACKLOG_URL": client.url})
    assert unknown.exit_code == 1
    assert f"acklog topics delete {topic}-back\n" in unknown.stderr
    assert f"acklog topics delete {topic}-beside\n" in unknown.stderr
    [command] = [line.partition(": acklog ")[2] for line in unknown.stderr.splitlines() if line.endswith("-beside")]
    assert run_command(*command.split(), "--yes", environment={"ACKLOG_URL": client.url}).exit_code == 0
    run = ("--run", manifest.run_id, "--json")
    given_up = run_command(*arguments, *run, environment={"ACKLOG_URL": client.url})
    assert given_up.document == {"givenUp": [f"{topic}-back"]}, given_up.stderr
    with pytest.raises(TopicNotFound):
        client.topics.get(f"{topic}-back")


def test_a_topic_that_goes_meanwhile_is_told(client: Client, topic: str, tmp_path: Path) -> None:
    passing = f"{topic}-passing"
    filled(client, topic, messages=30)
    filled(client, passing, messages=30)

    def delete() -> None:
        client.topics.delete(passing)
        client.topics.create(passing, 2)

    copies = InterruptedCopies(client.copies, f"/topics/{passing}/partitions/0/records", delete)
    manifest = back_up(copies, DirectoryStore(tmp_path), f"{topic}*")
    assert manifest.gone == [passing]
    assert [each.name for each in manifest.topics] == [topic]


def test_what_is_removed_before_it_is_read_is_told(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    copies = InterruptedCopies(
        client.copies, "/partitions/0/records", lambda: client.topics.delete_before(topic, offsets={0: 4})
    )
    manifest = back_up(copies, DirectoryStore(tmp_path), topic)
    [gap] = manifest.topics[0].partitions[0].gaps
    assert (gap.start, gap.end) == (0, 4)
    assert "removed" in gap.reason


def test_messages_are_counted_that_are_there_and_gaps_are_told(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    copies = InterruptedCopies(
        client.copies, "/partitions/0/records", lambda: client.topics.delete_before(topic, offsets={0: 4})
    )
    manifest = back_up(copies, DirectoryStore(tmp_path), topic)
    found = len(messages_of(client, topic))
    assert manifest.topics[0].messages == found == 26
    listed = run_command("backup", "list", str(tmp_path))
    assert " 26 " in listed.stdout
    options = ("--as", f"{topic}={topic}-back", "--yes", "--json")
    restored = run_command("restore", str(tmp_path), *options, environment={"ACKLOG_URL": client.url})
    assert restored.document["topics"][0]["messages"] == found == len(messages_of(client, f"{topic}-back"))
    assert restored.exit_code == 1
    assert f"Missing from {topic} 0: 0 to 4, as retention" in restored.stderr
    assert "the backup does not have 1 piece" in restored.stderr


def test_later_runs_count_what_is_left_of_a_file_as_well(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path)
    back_up(client.copies, store, topic)
    client.topics.delete_before(topic, offsets={0: 4})
    assert back_up(client.copies, store, topic).topics[0].messages == 26


def test_compacted_messages_are_not_counted(client: Client, topic: str, tmp_path: Path) -> None:
    client.topics.create(topic, 1, cleanup_policy="compact")
    for number in range(20):
        client.send(topic, number, key=f"k{number % 3}")
    compacted = run_command("topics", "compact", topic, "--wait", environment={"ACKLOG_URL": client.url})
    assert compacted.exit_code == 0, compacted.stderr
    found = len(messages_of(client, topic))
    assert found == 3
    store = DirectoryStore(tmp_path)
    manifest = back_up(client.copies, store, topic)
    assert manifest.topics[0].messages == found
    outcome = restore(client.copies, store, manifest, names={topic: f"{topic}-back"})
    assert outcome.topics[0].messages == found == len(messages_of(client, f"{topic}-back"))


def test_no_file_that_is_damaged_is_restored(client: Client, topic: str, tmp_path: Path) -> None:
    filled(client, topic, messages=30)
    store = DirectoryStore(tmp_path)
    manifest = back_up(client.copies, store, topic)
    victim = tmp_path / manifest.topics[0].partitions[1].chunks[0].name
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    with pytest.raises(BackupDamaged):
        restore(client.copies, store, manifest, names={topic: f"{topic}-back"})
    assert not _is_whole(client, f"{topic}-back")
    verified = run_command("backup", "verify", str(tmp_path))
    assert verified.exit_code == 1
    assert "does not hold what it held" in verified.stdout
