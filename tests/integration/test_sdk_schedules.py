"""Messages that are seen later, by the SDK against a real server."""

from datetime import UTC, datetime, timedelta

import pytest

from acklog import Client, OutgoingMessage, Sent
from acklog.errors import InvalidArgument, InvalidField, ScheduleOver
from tests.support.server_process import ServerProcess


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
        assert client.scheduled.count("reminders") == 2
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
        with pytest.raises(ScheduleOver):
            client.scheduled.cancel("reminders", third.schedule_id)
        with pytest.raises(InvalidArgument):
            client.send("reminders", 1, deliver_at=datetime(2030, 1, 1))
        with pytest.raises(InvalidField):
            client.send("reminders", 1, delay_seconds=-1)
