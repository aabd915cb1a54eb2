"""The calls that send, receive, settle and read messages."""

from collections.abc import Sequence

import msgspec

from acklog.client.call import (
    JSON,
    Bodies,
    Call,
    Request,
    Response,
    decode_answer,
    encode_document,
    item_error,
    problem_of,
    raise_for_problem,
    read_as,
    segment,
    target,
)
from acklog.client.wire_message import WireMessage, wire_message
from acklog.errors import AcklogError, InvalidArgument, UnexpectedAnswer
from acklog.messages import (
    InspectedMessage,
    LookedAt,
    Message,
    OutgoingMessage,
    Received,
    RecordsPage,
    Sent,
    Settled,
    StoredMessage,
)
from acklog.tracing import current_trace
from acklog.wire.limits import NACK_REASON_BYTES_MAX, RECEIPTS_MAX, REQUEST_MESSAGES_MAX
from acklog.wire.names import default_group_of
from acklog.wire.tracing import TRACEPARENT

Acks = int | str | None
Receipts = str | Message | Sequence[str | Message]
IDEMPOTENCY_HEADER = "Idempotency-Key"


class _Single(WireMessage, rename="camel", omit_defaults=True, gc=False):
    queue: str = ""
    acks: int | str | None = None


class _Batch(msgspec.Struct, omit_defaults=True):
    queue: str
    messages: list[WireMessage]
    acks: int | str | None = None


class _StoredItem(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A result of a batch: `Sent`, or a problem (then it has a `code`)."""

    message_id: str | None = None
    partition: int = -1
    offset: int | None = None
    topic_created: bool = False
    schedule_id: str | None = None
    deliver_at: int | None = None
    code: str = ""
    detail: str = ""
    retriable: bool = False
    field: str = ""


class _StoredBatch(msgspec.Struct, rename="camel"):
    results: list[_StoredItem]
    failed: int = 0
    topic_created: bool = False


class _SettledItem(msgspec.Struct):
    status: str | None = None
    code: str = ""
    detail: str = ""
    retriable: bool = False
    field: str | None = None


class _SettledBatch(msgspec.Struct):
    results: list[_SettledItem]


_stored_batch_decoder = msgspec.json.Decoder(_StoredBatch)
_settled_batch_decoder = msgspec.json.Decoder(_SettledBatch)
_read_sent = read_as(Sent)
_read_received = read_as(Received)
_read_inspected = read_as(InspectedMessage)
_read_records = read_as(RecordsPage)


def send(topic: str, message: OutgoingMessage, *, acks: Acks, idempotency_key: str | None) -> Call[Sent]:
    wire = wire_message(message)
    single = _Single(**{name: getattr(wire, name) for name in WireMessage.__struct_fields__}, queue=topic, acks=acks)
    is_repeatable = idempotency_key is not None or message.dedup_id is not None
    request = Request("POST", "/messages", encode_document(single), _send_headers(idempotency_key))
    return Call(request, _read_sent, is_repeatable)


def send_many(
    topic: str, messages: Sequence[OutgoingMessage], *, acks: Acks, idempotency_key: str | None
) -> Call[list[Sent | AcklogError]]:
    """Raises InvalidArgument for no messages and for more than a request may have."""
    count = len(messages)
    if not 1 <= count <= REQUEST_MESSAGES_MAX:
        detail = f"{count} messages, a request has 1 to {REQUEST_MESSAGES_MAX}; a producer splits them by itself"
        raise InvalidArgument(detail, field="messages")
    document = _Batch(topic, [wire_message(message) for message in messages], acks)
    is_repeatable = idempotency_key is not None or all(message.dedup_id is not None for message in messages)
    request = Request("POST", "/messages", encode_document(document), _send_headers(idempotency_key))
    return Call(request, lambda response: read_stored(response, count), is_repeatable)


def read_stored(response: Response, count: int) -> list[Sent | AcklogError]:
    """A result for each message of a batch. Raises the problem of a request that failed as a whole."""
    problem = problem_of(response)
    if problem is not None and "results" not in problem.extra:
        raise problem
    batch = decode_answer(_stored_batch_decoder, response)
    if len(batch.results) != count:
        raise UnexpectedAnswer(f"{len(batch.results)} results for {count} messages", status=response.status)
    retry_after_s = None if problem is None else problem.retry_after_s
    created = batch.topic_created
    return [
        _failed(item, retry_after_s)
        if item.code
        else Sent(item.message_id, item.partition, item.offset, created, item.schedule_id, item.deliver_at)
        for item in batch.results
    ]


def receive(
    topics: str | Sequence[str],
    *,
    group: str | None,
    max_messages: int,
    max_bytes: int | None,
    wait_s: float,
    visibility_s: float | None,
    consumer: str | None,
    auto_ack: bool,
    mode: str | None = None,
    member_epoch: int | None = None,
    message_filter: str | None = None,
) -> Call[Received]:
    """Leases messages within `wait_s` seconds. `group` None is the default one. `member_epoch` is what a member of an
    exclusive group was told last."""
    names = [topics] if isinstance(topics, str) else topics
    query: list[tuple[str, object | None]] = [
        *(("queue", name) for name in names),
        ("group", group_of(names, group)),
        ("max", max_messages),
        ("maxBytes", max_bytes),
        ("waitSeconds", _seconds(wait_s) or None),
        ("visibilitySeconds", None if visibility_s is None else _seconds(visibility_s)),
        ("consumer", consumer),
        ("autoAck", auto_ack or None),
        ("mode", mode),
        ("memberEpoch", member_epoch),
        ("filter", message_filter),
    ]
    request = Request("GET", target("/messages", query))
    return Call(request, _read_received, wait_s=wait_s, bodies=lambda received: bodies_of(received.messages))


def ack(receipts: Receipts) -> Call[list[Settled]]:
    return _settle("/ack", receipts, {})


def _seconds(duration_s: float) -> float:
    """To the millisecond, which is what the server takes: a difference of clocks has more digits than it allows."""
    return round(duration_s, 3)


def nack(receipts: Receipts, *, delay_s: float | None, reason: str = "") -> Call[list[Settled]]:
    said = reason.encode(errors="replace")[:NACK_REASON_BYTES_MAX].decode(errors="ignore")  # as long as an error's text
    fields: dict[str, object] = {"reason": said} if said else {}
    return _settle("/nack", receipts, fields if delay_s is None else {"delaySeconds": _seconds(delay_s), **fields})


def extend(receipts: Receipts, *, visibility_s: float) -> Call[list[Settled]]:
    return _settle("/extend", receipts, {"visibilitySeconds": _seconds(visibility_s)})


def group_of(topics: Sequence[str], group: str | None) -> str:
    """The group, or where none is named the default one of the topics' namespace."""
    return default_group_of(topics[0] if topics else "") if group is None else group


def ack_message_ids(message_ids: Sequence[str], *, group: str | None) -> Call[list[Settled]]:
    """`group` None: the server's default one, of the namespace that the messages are in."""
    return _settle_items("/ack", "messageIds", message_ids, {} if group is None else {"group": group})


def look(message_id: str) -> Call[LookedAt]:
    def read(response: Response) -> LookedAt:
        inspected = _read_inspected(response)
        return LookedAt(inspected, inspected.groups)

    request = Request("GET", f"/messages/{segment(message_id)}")
    return Call(request, read, bodies=lambda looked_at: bodies_of([looked_at.message]))


def records(
    topic: str,
    partition: int,
    *,
    offset: int | str | None,
    epoch: int | None,
    time_ms: int | None,
    max_bytes: int | None,
    wait_s: float,
    message_filter: str | None = None,
) -> Call[RecordsPage]:
    """`epoch` is that of the page whose `next_offset` is asked for."""
    query = [
        ("offset", offset),
        ("epoch", epoch),
        ("time", time_ms),
        ("maxBytes", max_bytes),
        ("waitSeconds", _seconds(wait_s) or None),
        ("filter", message_filter),
    ]
    path = f"/topics/{segment(topic)}/partitions/{partition}/records"
    request = Request("GET", target(path, query))
    return Call(request, _read_records, wait_s=wait_s, bodies=lambda page: bodies_of(page.messages))


def bodies_of(messages: Sequence[StoredMessage]) -> Bodies:
    return [(message.topic, message) for message in messages]


def receipt_of(each: str | Message) -> str:
    return each if isinstance(each, str) else each.receipt


def raised_if_one(asked: Receipts, results: list[Settled]) -> list[Settled]:
    """The results; of a single receipt, message or id, which was not given in a list, the error is raised."""
    if isinstance(asked, str | Message) and (error := results[0].error) is not None:
        raise error
    return results


def _settle(path: str, receipts: Receipts, fields: dict[str, object]) -> Call[list[Settled]]:
    several = [receipts] if isinstance(receipts, str | Message) else receipts
    return _settle_items(path, "receipts", [receipt_of(each) for each in several], fields)


def _settle_items(path: str, kind: str, items: Sequence[str], fields: dict[str, object]) -> Call[list[Settled]]:
    if not 1 <= len(items) <= RECEIPTS_MAX:
        raise InvalidArgument(f"{len(items)} {kind}, a request has 1 to {RECEIPTS_MAX}", field=kind)

    def read(response: Response) -> list[Settled]:
        problem = problem_of(response)
        if problem is not None and "results" not in problem.extra:
            raise problem
        results = decode_answer(_settled_batch_decoder, response).results
        if len(results) != len(items):
            raise UnexpectedAnswer(f"{len(results)} results for {len(items)} {kind}", status=response.status)
        return [_settled(item, result) for item, result in zip(items, results, strict=True)]

    return Call(Request("POST", path, encode_document({kind: list(items), **fields}), _json_headers()), read)


def _settled(item: str, result: _SettledItem) -> Settled:
    if not result.code:
        return Settled(item, result.status)
    return Settled(item, None, item_error(msgspec.structs.asdict(result)))


def _failed(item: _StoredItem, retry_after_s: float | None) -> AcklogError:
    error = item_error(msgspec.structs.asdict(item))
    error.retry_after_s = retry_after_s
    return error


def _send_headers(idempotency_key: str | None) -> dict[str, str]:
    headers = _json_headers()
    return headers if idempotency_key is None else {**headers, IDEMPOTENCY_HEADER: idempotency_key}


def _json_headers() -> dict[str, str]:
    traceparent = current_trace()
    return JSON if traceparent is None else {**JSON, TRACEPARENT: traceparent}


def read_text(response: Response) -> str:
    raise_for_problem(response)
    return response.body.decode("utf-8", "replace")


metrics = Call(Request("GET", "/metrics"), read_text)
