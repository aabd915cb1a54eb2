"""Delayed messages are in the backup once: as they are, or among the messages."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from acklog.backup.delayed_messages import CLOCKS_APART_MS, MESSAGES_PER_FILE, DelayedMessages
from acklog.backup.server_catalog import ServerCatalog
from acklog.client.copy_calls import DelayedMessage
from acklog.errors import MessageNotFound

TOPIC_ID = "3v8k2mq5rw1zs"
CUT_MS = 10_000


class Shown(ServerCatalog):
    """Shows what `messages` has; None for one that is known no more."""

    def __init__(self, count: int = 1, *, deliver_at: int = CUT_MS) -> None:
        self.messages: dict[str, DelayedMessage | None] = {
            f"s-{number}": DelayedMessage(
                schedule_id=f"s-{number}",
                partition=0,
                state="scheduled",
                deliver_at=deliver_at,
                body=msgspec.Raw(b"1.0"),
            )
            for number in range(count)
        }

    def scheduled(self, topic: str) -> Iterator[dict[str, Any]]:
        yield from ({"scheduleId": each} for each in self.messages)

    def scheduled_message(self, topic: str, schedule_id: str) -> DelayedMessage:
        found = self.messages[schedule_id]
        if found is None:
            raise MessageNotFound("gone")
        return found


def backed_up(shown: Shown, afterwards: DelayedMessage | None, *, cut_ms: int = CUT_MS) -> int:
    delayed = DelayedMessages(shown, "orders")
    delayed.look()
    shown.messages["s-0"] = afterwards
    files = delayed.files(TOPIC_ID, {0: 5, 1: 9}, cut_ms=cut_ms)
    return sum(len(msgspec.json.decode(content)) for content in files.values())


def after(state: str, *, partition: int = 0, offset: int = -1) -> DelayedMessage:
    return DelayedMessage(schedule_id="s-0", partition=partition, state=state, offset=offset)


@pytest.mark.parametrize(
    ("afterwards", "count"),
    [
        (after("scheduled"), 1),
        (after("delivered", offset=4), 0),
        (after("delivered", offset=5), 1),
        (after("delivered", partition=1, offset=8), 0),
        (after("delivered", partition=1, offset=9), 1),
        (after("cancelled"), 0),
        (None, 1),
    ],
)
def test_what_became_of_it_until_the_cut_decides(afterwards: DelayedMessage | None, count: int) -> None:
    assert backed_up(Shown(), afterwards) == count


def test_what_is_due_long_after_the_cut_is_not_asked_for_again() -> None:
    gone = after("delivered", offset=0)
    assert backed_up(Shown(deliver_at=CUT_MS + CLOCKS_APART_MS), gone) == 0
    assert backed_up(Shown(deliver_at=CUT_MS + CLOCKS_APART_MS + 1), gone) == 1


def test_files_hold_so_many_each_and_bodies_as_they_are() -> None:
    shown = Shown(MESSAGES_PER_FILE + 1, deliver_at=10**12)
    delayed = DelayedMessages(shown, "orders")
    delayed.look()
    files = delayed.files(TOPIC_ID, {0: 5}, cut_ms=CUT_MS)
    assert [len(msgspec.json.decode(content)) for content in files.values()] == [MESSAGES_PER_FILE, 1]
    assert all(name.startswith(f"content/{TOPIC_ID}-0/scheduled-") for name in files)
    assert b'"body":1.0' in next(iter(files.values()))
