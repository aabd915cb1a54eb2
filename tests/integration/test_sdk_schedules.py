"""Messages that are seen later, by the SDK against a real server."""

from datetime import UTC, datetime, timedelta

import pytest

from acklog import Client, OutgoingMessage, Sent
from acklog.errors import (
    InvalidArgument,
    InvalidCron,
    InvalidField,
    ScheduleExists,
    ScheduleNotFound,
    ScheduleOver,
)
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

PATIENCE_S = 30


def test_a_message_is_seen_later_listed_moved_and_cancelled(server: ServerProcess) -> None:
    with Client(server.base_url) as client:
        client.topics.create("reminders", 2)
        sent = client.send("reminders", {"n": 1}, delay_seconds=0.5)
        assert sent.message_id is None
        assert sent.schedule_id is not None
        assert sent.deliver_at_ms is not None
        far = datetime.now(UTC) + timedelta(days=30)
        results = client.send_many(
            "reminders", [OutgoingMessage(2, deliver_at=far), OutgoingMessage(3, delay_seconds=3600)]
        )
        second, third = (each for each in results if isinstance(each, Sent))
        assert second.deliver_at_ms == -(-int(far.timestamp() * 1_000_000) // 1000)
        [message] = client.receive("reminders", group="g", wait_s=10)
        assert message.body == {"n": 1}
        assert message.append_time_ms >= sent.deliver_at_ms
        # A message may be there a moment before its schedule knows it.
        wait_until(lambda: client.scheduled.count("reminders") == 2, seconds=PATIENCE_S, what="one less is pending")
        assert [each.schedule_id for each in client.scheduled.list("reminders")] == [
            third.schedule_id,
            second.schedule_id,
        ]
        assert second.schedule_id is not None
        assert third.schedule_id is not None
        assert client.scheduled.get("reminders", third.schedule_id).body == 3
        assert client.scheduled.get("reminders", sent.schedule_id).message_id == message.message_id
        assert client.scheduled.cancel("reminders", second.schedule_id).state == "cancelled"
        client.scheduled.move("reminders", third.schedule_id, delay_seconds=0.1)
        [message] = client.receive("reminders", group="g", wait_s=10)
        assert message.body == 3
        wait_until(lambda: client.scheduled.count("reminders") == 0, seconds=PATIENCE_S, what="nothing is pending")
        with pytest.raises(ScheduleOver):
            client.scheduled.cancel("reminders", third.schedule_id)
        with pytest.raises(InvalidArgument):
            client.send("reminders", 1, deliver_at=datetime(2030, 1, 1))
        with pytest.raises(InvalidField):
            client.send("reminders", 1, delay_seconds=-1)


def test_a_message_is_sent_again_and_again(server: ServerProcess) -> None:
    with Client(server.base_url) as client:
        client.topics.create("ticks", 1)
        tick = OutgoingMessage({"tick": 1}, key="k", tags=["t"])
        made = client.schedules.create("ticks", "each-second", tick, every_seconds=1, missed="all")
        assert client.schedules.create("ticks", "each-second", tick, every_seconds=1) == made
        with pytest.raises(ScheduleExists):
            client.schedules.create("ticks", "each-second", tick, every_seconds=2)
        times = []
        while len(times) < 3:
            for message in client.receive("ticks", group="g", wait_s=10):
                assert (message.body, message.key, message.headers["acklog-schedule"]) == (
                    {"tick": 1},
                    "k",
                    "each-second",
                )
                due = datetime.fromisoformat(message.headers["acklog-schedule-time"])
                assert message.append_time_ms >= due.timestamp() * 1000
                times.append(round((due.timestamp() * 1000 - made.created_at_ms) / 1000))
        assert times == list(range(1, len(times) + 1))
        assert client.schedules.pause("ticks", "each-second").is_paused
        binary = OutgoingMessage(b"bytes", content_type="text/plain")
        cron = client.schedules.create("ticks", "report", binary, cron="0 8 * * mon-fri", time_zone="Europe/Berlin")
        assert cron.message is not None
        assert cron.message.body == b"bytes"
        assert [each.name for each in client.schedules.list("ticks")] == ["each-second", "report"]
        assert client.schedules.resume("ticks", "each-second").next_at_ms is not None
        assert client.schedules.update("ticks", "report", every_seconds=60).cron is None
        for name in ("each-second", "report", "each-second"):
            client.schedules.delete("ticks", name)
        with pytest.raises(ScheduleNotFound):
            client.schedules.get("ticks", "report")
        with pytest.raises(InvalidCron) as caught:
            client.schedules.create("ticks", "report", tick, cron="0 0 31 2 *")
        assert caught.value.field == "cron"


def test_a_topic_that_delays_does_so_for_all_that_does_not_say_when(server: ServerProcess) -> None:
    with Client(server.base_url) as client:
        client.topics.create("slow", 1, delay_ms=3_600_000)
        assert client.topics.get("slow").config.delay_ms == 3_600_000
        assert client.send("slow", 1).message_id is None
        assert client.send("slow", 2, key="k", delay_seconds=0).message_id is not None
        with client.producer("slow") as producer:
            waits, at_once = producer.send(3), producer.send(4, delay_seconds=0)
        assert waits.result().schedule_id is not None
        assert at_once.result().message_id is not None
        assert client.topics.update("slow", delay_ms=0).config.delay_ms == 0
        assert client.send("slow", 5).message_id is not None
        assert sorted(message.body for message in client.receive("slow", group="g", wait_s=1)) == [2, 4, 5]
