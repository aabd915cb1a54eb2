"""What names a dead letter that is sent back."""

import pytest
from msgspec import Raw

from acklog.command.dead_letters import _dedup_id
from acklog.messages import Message
from acklog.wire.identifiers import Receipt

TOPIC_ID, GROUP_ID = "0" * 13, "1" * 13


def letter(generation: int) -> Message:
    return Message(
        message_id="m-1",
        topic="t.g.dlq",
        partition=0,
        offset=4,
        json_body=Raw(b"1"),
        timestamp_ms=0,
        append_time_ms=0,
        receipt=str(Receipt(TOPIC_ID, 0, 4, GROUP_ID, generation, 7, 1)),
    )


@pytest.mark.parametrize(("generation", "name"), [(0, "dlq-m-1"), (3, "dlq-m-1-3")])
def test_a_letter_that_was_sought_back_to_is_sent_again(generation: int, name: str) -> None:
    assert _dedup_id(letter(generation)) == name
