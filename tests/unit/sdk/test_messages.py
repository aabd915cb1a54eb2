"""Messages as the SDK shows them."""

import msgspec
import pytest

from acklog.messages import Received, StoredMessage
from acklog.recurring import RecurringTemplate
from acklog.scheduled import ScheduledMessage

FIELDS = {
    StoredMessage: {"messageId": "m", "queue": "t", "partition": 0, "offset": 0, "timestamp": 1, "appendTime": 2},
    ScheduledMessage: {"scheduleId": "s", "queue": "t", "partition": 0, "state": "scheduled", "deliverAt": 3},
    RecurringTemplate: {"key": "k"},
}


@pytest.mark.parametrize("number", ["1e400", "-1e999", "9" * 5000])
def test_a_number_that_nobody_can_read_harms_its_message_only(number: str) -> None:
    """Bodies are kept as they were sent, so whoever reads one may meet anything that JSON can write."""
    template = (
        '{"messageId":"m","queue":"q","partition":0,"offset":%d,"timestamp":1,"appendTime":1,"receipt":"r","body":%s}'
    )
    text = f'{{"messages":[{template % (0, f"[{number}]")},{template % (1, "[1]")}]}}'
    strange, plain = msgspec.json.decode(text, type=Received)
    with pytest.raises(msgspec.ValidationError):
        _ = strange.body
    assert strange.body_bytes == f"[{number}]".encode()
    assert plain.body == [1]


@pytest.mark.parametrize("kind", list(FIELDS))
def test_an_empty_body_is_not_none(kind: type[StoredMessage | ScheduledMessage | RecurringTemplate]) -> None:
    """With a key it is a tombstone: whoever passes it on passes on that the key has no value any more."""
    fields = {**FIELDS[kind], "bodyBase64": "", "contentType": "application/octet-stream"}
    read = msgspec.json.decode(msgspec.json.encode(fields), type=kind)
    assert read.body == b""
    assert msgspec.json.decode(msgspec.json.encode(read)) == fields


def test_what_a_list_leaves_out_has_no_body() -> None:
    listed = msgspec.convert({**FIELDS[ScheduledMessage], "size": 0, "contentType": "text/plain"}, ScheduledMessage)
    assert listed.body is None
    assert b"bodyBase64" not in msgspec.json.encode(listed)
