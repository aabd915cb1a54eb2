"""What a queue takes, and how it says what it does not take."""

import pytest

from acklog.wire.record import Record
from app.auth.principal import ANYONE, Principal, PrincipalKind
from app.calls.send import Outgoing, Sendable
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.messages.outgoing_record import sendable_of
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.values import TopicConfig
from tests.support.sqs_queues import queue_of, text

FIFO = "orders.fifo"
MIB = 1024 * 1024


def sendable(queue: Queue, body: str = "{}", **fields: object) -> Sendable:
    return sendable_of(queue, OutgoingMessage(body=body, **fields), ANYONE, 5)  # type: ignore[arg-type]


def outgoing(queue: Queue, body: str = "{}", **fields: object) -> Outgoing:
    found = sendable(queue, body, **fields)
    assert isinstance(found, Outgoing)
    return found


def fault_of(queue: Queue, body: str = "{}", **fields: object) -> tuple[SqsErrorCode, str]:
    with pytest.raises(SqsError) as caught:
        sendable(queue, body, **fields)
    return caught.value.code, caught.value.message


def test_a_plain_message_is_a_plain_record() -> None:
    assert sendable(queue_of(), '{"a":1}') == (b'{"a":1}', None)
    assert sendable(queue_of(), "1", group_id="g") == (b"1", "g")
    assert sendable(queue_of(), "1", delay_seconds=0) == (b"1", None)
    assert isinstance(sendable(queue_of(), "text"), Outgoing)


def test_bodies() -> None:
    assert fault_of(queue_of(), "") == (
        SqsErrorCode.MISSING_PARAMETER,
        "The request must contain the parameter MessageBody.",
    )
    for character in ("\x00", "\x0b", "\ufffe", "\ud800"):
        code, message = fault_of(queue_of(), f"a{character}")
        assert code is SqsErrorCode.INVALID_MESSAGE_CONTENTS
        assert message.startswith(f"Invalid binary character '#x{ord(character):X}' was found in the message body")


def test_sizes_count_attributes_whole() -> None:
    queue = queue_of(MaximumMessageSize="1024")
    attributes = {"name": text("v" * 10)}
    sendable(queue, "x" * (1024 - 4 - 6 - 10), attributes=attributes)
    told = "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."
    too_long = fault_of(queue, "x" * (1024 - 4 - 6 - 10 + 1), attributes=attributes)
    assert too_long == (SqsErrorCode.INVALID_PARAMETER_VALUE, told)
    assert fault_of(queue, "ä" * 513)[1] == told
    trace = {"AWSTraceHeader": text("Root=1")}
    sendable(queue, "x" * 1024, system_attributes=trace)
    sendable(queue_of(), "x" * MIB)
    assert fault_of(queue_of(), "x" * (MIB + 1))[0] is SqsErrorCode.INVALID_PARAMETER_VALUE


def test_delays() -> None:
    assert outgoing(queue_of(), delay_seconds=900).record.schedule.delay_ms == 900_000
    for seconds in (-1, 901):
        told = f"Value {seconds} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
        assert fault_of(queue_of(), delay_seconds=seconds) == (SqsErrorCode.INVALID_PARAMETER_VALUE, told)
    late = queue_of(config=TopicConfig(delay_ms=5_000))
    assert outgoing(late, delay_seconds=0).is_at_once
    assert outgoing(late).record == Record(b"{}", timestamp_ms=5)
    assert outgoing(queue_of(), delay_seconds=1).record.timestamp_ms == 5


def test_a_fifo_queue_delays_all_or_none() -> None:
    ids = {"group_id": "g", "deduplication_id": "d"}
    assert not outgoing(queue_of(FIFO), delay_seconds=0, **ids).is_at_once
    told = "The request include parameter that is not valid for this queue type."
    assert fault_of(queue_of(FIFO), delay_seconds=1, **ids) == (
        SqsErrorCode.INVALID_PARAMETER_VALUE,
        f"Value 1 for parameter DelaySeconds is invalid. Reason: {told}",
    )


def test_a_fifo_queue_wants_a_group_and_an_id() -> None:
    queue = queue_of(FIFO)
    assert fault_of(queue, deduplication_id="d") == (
        SqsErrorCode.MISSING_PARAMETER,
        "The request must contain the parameter MessageGroupId.",
    )
    assert fault_of(queue, group_id="g") == (
        SqsErrorCode.INVALID_PARAMETER_VALUE,
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    )
    found = outgoing(queue, group_id="g", deduplication_id="d")
    assert (found.record.key, found.dedup_id, found.is_same_by_name) == ("g", "d", True)
    assert found.record.headers == {"sqs.deduplication-id": "d"}


@pytest.mark.parametrize("parameter", ["MessageGroupId", "MessageDeduplicationId"])
def test_what_ids_may_be(parameter: str) -> None:
    field = {"MessageGroupId": "group_id", "MessageDeduplicationId": "deduplication_id"}[parameter]
    both = {"group_id": "g", "deduplication_id": "d"}
    sendable(queue_of(FIFO), **{**both, field: "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~aZ9"})
    sendable(queue_of(FIFO), **{**both, field: "x" * 128})
    for wrong in ("", "a b", "ä", "x" * 129, "a\n"):
        code, message = fault_of(queue_of(FIFO), **{**both, field: wrong})
        assert code is SqsErrorCode.INVALID_PARAMETER_VALUE
        assert f"for parameter {parameter} is invalid" in message


def test_a_standard_queue_has_groups_and_no_deduplication() -> None:
    assert sendable(queue_of(), group_id="tenant") == (b"{}", "tenant")
    code, message = fault_of(queue_of(), deduplication_id="d")
    assert code is SqsErrorCode.INVALID_PARAMETER_VALUE
    assert "for parameter MessageDeduplicationId is invalid" in message


def test_the_content_may_be_what_tells_messages_apart() -> None:
    queue = queue_of(FIFO, ContentBasedDeduplication="true")
    first, same, other = (
        outgoing(queue, body, group_id=group, attributes=attributes)
        for body, group, attributes in (("a", "g", {}), ("a", "h", {"x": text("1")}), ("b", "g", {}))
    )
    assert first.dedup_id == same.dedup_id != other.dedup_id
    assert outgoing(queue, "a", group_id="g", deduplication_id="d").dedup_id == "d"


def test_the_scope_may_be_a_message_group() -> None:
    queue = queue_of(FIFO, DeduplicationScope="messageGroup")
    names = {
        outgoing(queue, group_id=group, deduplication_id=name).dedup_id
        for group, name in (("g", "d"), ("h", "d"), ("g", "e"), ("g", "d"))
    }
    assert len(names) == 3
    found = outgoing(queue, group_id="g", deduplication_id="x" * 128)
    assert len(found.dedup_id or "") <= 128
    assert found.record.headers == {"sqs.deduplication-id": "x" * 128}


def test_who_sent_it_is_kept_where_it_is_known() -> None:
    ada = Principal("ada", ANYONE.rights, kind=PrincipalKind.STORED)
    found = sendable_of(queue_of(), OutgoingMessage(body="{}"), ada, 5)
    assert isinstance(found, Outgoing)
    assert found.record.headers == {"sqs.sender": "ada"}
