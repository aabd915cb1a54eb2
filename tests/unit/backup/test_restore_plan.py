"""What a restore is to bring, and under which names; and pages of it."""

import pytest

from acklog.backup.backup_error import BackupError
from acklog.backup.delayed_batches import delayed_batches
from acklog.backup.manifest import Manifest, TopicEntry
from acklog.backup.pace import BackupPace
from acklog.backup.partition_backup import batches_below
from acklog.backup.partition_restore import before, last_end, pages
from acklog.backup.restore_plan import WHOLE_MS, restore_plan
from acklog.backup.run_id import run_id_at
from acklog.wire.log_page import runs
from tests.unit.backup.test_backup_set import batches


def topic(name: str) -> TopicEntry:
    return TopicEntry(name, f"id{name}", 1, {}, [], [], {}, [], 1)


MANIFEST = Manifest("r", "here", 1, 2, [topic("orders"), topic("orders-eu"), topic("bills")], [])


def test_everything_under_its_own_name() -> None:
    plans = restore_plan(MANIFEST)
    assert [(plan.name, plan.restore_id) for plan in plans] == [
        ("orders", "r-idorders"),
        ("orders-eu", "r-idorders-eu"),
        ("bills", "r-idbills"),
    ]
    assert all(plan.is_whole for plan in plans)


def test_some_under_other_names_up_to_a_time() -> None:
    plans = restore_plan(MANIFEST, topics=["orders*"], names={"orders": "old"}, until_ms=99)
    assert [(plan.name, plan.restore_id) for plan in plans] == [
        ("old", "r-idorders-99"),
        ("orders-eu", "r-idorders-eu-99"),
    ]
    assert not plans[0].is_whole


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"topics": ["orders", "nothing"]}, "has no topic nothing"),
        ({"topics": ["orders"], "names": {"bills": "old"}}, "bills is to have another name"),
        ({"names": {"bills": "orders"}}, "two topics would be called orders"),
    ],
)
def test_what_cannot_be_restored(options: dict[str, object], problem: str) -> None:
    with pytest.raises(BackupError, match=problem):
        restore_plan(MANIFEST, **options)  # type: ignore[arg-type]


def test_the_ids_of_restores_are_taken_by_servers() -> None:
    run_id = run_id_at(1_795_739_818_806)
    assert run_id == "20261127T003658.806Z"
    assert len(f"{run_id}-3v8k2mq5rw1zs-{WHOLE_MS}") <= 64


def test_pages_are_whole_batches() -> None:
    content = batches(0, 3) + batches(3, 5)
    assert list(pages(content)) == [content]
    assert list(pages(b"")) == []
    assert batches_below(content, 4) == (batches(0, 3), 3)
    assert batches_below(content, 2) == (b"", 0)
    assert before(1_000, content) == (b"", True)
    assert before(1_001, content) == (content, False)
    assert (last_end(content), last_end(b"")) == (5, 0)


def test_delayed_messages_count_from_where_the_last_file_ended() -> None:
    content = (
        b'[{"scheduleId":"s-1","state":"scheduled","deliverAt":5000,"key":"k","body":{"a":  1.0},"tags":["t"],'
        b'"headers":{"h":"v"},"ttlSeconds":1.5,"partition":0},'
        b'{"scheduleId":"s-2","state":"scheduled","deliverAt":6000,"bodyBase64":"AAE=","contentType":"x/y","partition":0}]'
    )
    made, behind = delayed_batches(content, 7, append_ms=9)
    assert behind == 9
    [(_, first, [json_record]), (_, second, [bytes_record])] = runs(made, 0)
    assert (first, second) == (7, 8)
    assert (json_record.body, json_record.key, json_record.ttl_ms) == (b'{"a":  1.0}', "k", 1_500)
    assert json_record.schedule is not None
    assert json_record.schedule.at_ms == 5_000
    assert (bytes_record.body, bytes_record.content_type) == (b"\0\1", "x/y")


def test_a_pace_waits_for_what_is_too_much_and_saves_nothing_up() -> None:
    now_ms, waited = [0.0], list[float]()
    pace = BackupPace(1_000, now_ms=lambda: now_ms[0], pause=waited.append)
    pace.spend(500)
    assert waited == [0.5]
    now_ms[0] = 10_000
    pace.spend(1_000)
    assert waited == [0.5, 1.0]
    BackupPace(None, now_ms=lambda: 0, pause=waited.append).spend(10**9)
    assert waited == [0.5, 1.0]
