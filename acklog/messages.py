"""What goes to a server and what comes back, as a user of the SDK sees it.

The structs decode straight from the API's JSON and encode back into it (`msgspec.json.encode(message)`); only names
differ: `queue` is `topic` here, and times have their unit (`timestamp_ms`, milliseconds since 1970).
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from acklog.errors import AcklogError, InvalidArgument, SomeFailed
from acklog.stored_body import refuse_unreadable

_Body = TypeVar("_Body")
_decode_json = msgspec.json.decode


class OutgoingMessage(msgspec.Struct, gc=False):
    """A message to send. `body` is anything that JSON can hold (dataclasses and msgspec structs included), or bytes.

    `key` decides the partition unless `partition` does; messages with one key keep their order in the log.
    `dedup_id` makes the server store the message once, however often it is sent within the topic's window.
    With `delay_seconds` or `deliver_at` (a time with a zone, milliseconds since 1970, or RFC 3339) it is seen later.
    `ttl_seconds` after it can be seen nobody is given it any more; None: as the topic says.
    """

    body: Any
    key: str | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    timestamp_ms: int | None = None
    partition: int | None = None
    dedup_id: str | None = None
    content_type: str | None = None
    delay_seconds: float | None = None
    deliver_at: datetime | int | str | None = None
    ttl_seconds: float | None = None


class Sent(msgspec.Struct, gc=False, frozen=True, omit_defaults=True, rename="camel"):
    """A message is stored. With `acks=0` the ids may be None: nobody waited for them. One that is to be seen later has
    a `schedule_id` instead, and is due at `deliver_at_ms` (None where it was sent before)."""

    message_id: str | None
    partition: int
    offset: int | None
    topic_created: bool = False
    schedule_id: str | None = None
    deliver_at_ms: int | None = field(name="deliverAt", default=None)


class StoredMessage(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """A message as the log has it.

    `timestamp_ms` is the producer's time, `append_time_ms` the server's; `content_type` is None where the body is JSON,
    and else `base64_body` has it, which may be "": a message with a key and no bytes is a tombstone.
    From `expires_at_ms` on it is delivered no more (None: that does not end).
    """

    message_id: str = field(name="messageId")
    topic: str = field(name="queue")
    partition: int
    offset: int
    key: str | None = None
    json_body: Raw | UnsetType = field(name="body", default=UNSET)
    base64_body: str | None = field(name="bodyBase64", default=None)
    content_type: str | None = field(name="contentType", default=None)
    headers: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    timestamp_ms: int = field(name="timestamp")
    append_time_ms: int = field(name="appendTime")
    expires_at_ms: int | None = field(name="expiresAt", default=None)

    @property
    def body(self) -> Any:
        """The JSON value, or bytes where the message has a content type. Decoded at the first look."""
        kept = self.__dict__
        if "body" not in kept:
            refuse_unreadable(kept)
            kept["body"] = self.body_bytes if self.json_body is UNSET else _decode_json(self.json_body)
        return kept["body"]

    @property
    def body_bytes(self) -> bytes:
        """The body as it is stored: JSON text, or the bytes that were sent."""
        refuse_unreadable(self.__dict__)
        return b64decode(self.base64_body or "") if self.json_body is UNSET else bytes(self.json_body)

    def body_as(self, kind: type[_Body]) -> _Body:
        """The JSON body as a `kind`: a dataclass, a msgspec struct, `list[int]`. Raises msgspec.ValidationError."""
        return _decode_json(self.body_bytes, type=kind)


class Settler(Protocol):
    """Who takes what is decided about a message: the consumer that it came from."""

    def ack(self, message: "Message", /) -> None: ...

    def nack(self, message: "Message", /, delay_s: float | None, reason: str = "") -> None: ...

    def end(self, message: "Message", error: BaseException | None, /) -> None: ...


class Message(StoredMessage, kw_only=True, omit_defaults=True):
    """A message that is leased to you: `receipt` is the proof of it, `attempt` counts from 1.

    From a consumer, `with message:` (or `async with`) acks it where the block ends and nacks it where the block raises;
    `ack()` and `nack()` do so by hand. They return at once: the consumer sends them, many in one request, and tries
    again until the server has confirmed them.
    """

    receipt: str = ""
    attempt: int = 1

    def ack(self) -> None:
        """The work is done. Raises InvalidArgument for a message that did not come from a consumer."""
        self._settler.ack(self)

    def nack(self, *, delay_s: float | None = None, reason: str = "") -> None:
        """Give it back, to come again after `delay_s` seconds; None: by the group's back-off. `reason` says why: its
        first 256 bytes are kept with the message, and go with it where it dies."""
        self._settler.nack(self, delay_s, reason)

    @property
    def _settler(self) -> Settler:
        settler: Settler | None = self.__dict__.get("settler")
        if settler is None:
            raise InvalidArgument("this message is not from a consumer: settle it with client.ack(message)")
        return settler

    def __enter__(self) -> Self:
        if "settler" not in self.__dict__:
            self._settler  # noqa: B018 - raises now, not when the work is done
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__dict__["settler"].end(self, error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__dict__["settler"].end(self, error)


class Received(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a receive got. `reason` says why there are no messages: `EMPTY`, `ALL_LEASED`, `IN_FLIGHT_LIMIT`, ...; where
    that is a limit of the group's, `limit` names the setting as the API spells it."""

    messages: list[Message]
    reason: str | None = None
    limit: str | None = None
    group_created: bool = False

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


class Settled(msgspec.Struct):
    """What became of one receipt or message id: `status` ("acknowledged", "returned", "extended") or `error`."""

    receipt: str
    status: str | None = None
    error: AcklogError | None = None


def raise_for_failures(results: "Iterable[Settled | Sent | AcklogError]") -> None:
    """Raise if any of the results of `ack`, `nack`, `extend` or `send_many` is a failure: the error itself where there
    is one, SomeFailed with all of them where there are more."""
    errors: list[AcklogError] = []
    for result in results:
        error = result.error if isinstance(result, Settled) else result
        if isinstance(error, AcklogError):
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SomeFailed(f"{len(errors)} failed; the first: {errors[0]}", failures=errors)


class FailedAttempt(msgspec.Struct):
    """Why an attempt at a message failed, as its consumer said when it gave it back."""

    attempt: int
    at_ms: int = field(name="at")
    reason: str


class GroupState(msgspec.Struct, omit_defaults=True):
    """What one group has done with a message. `until_ms` is when a lease or a delay ends, and `consumer` who has it.

    Of one that failed and is not done: `last_consumer` had it last, and `reasons` are the last ones that were said.
    Of one that waits: `limit` is the group's setting that keeps it from going out now, "" where none does, and
    `behind_unreadable` the offset of the message that stops its partition as nobody can read it."""

    group: str
    state: str
    attempts: int
    until_ms: int | None = field(name="until", default=None)
    consumer: str = ""
    last_consumer: str = field(name="lastConsumer", default="")
    reasons: list[FailedAttempt] = field(default_factory=list)
    limit: str = ""
    behind_unreadable: int | None = field(name="behindUnreadable", default=None)


class InspectedMessage(StoredMessage, kw_only=True, omit_defaults=True):
    """A message as a look at it shows it."""

    groups: list[GroupState] = field(default_factory=list)


class LookedAt(msgspec.Struct):
    """A message, and what each group that has read its partition has done with it."""

    message: StoredMessage
    groups: list[GroupState]


class RecordsPage(msgspec.Struct):
    """A piece of a partition's log. Go on at `next_offset`, with `epoch` if there is one; `high_watermark` is one past
    the last that can be read."""

    messages: list[StoredMessage] = field(name="records")
    offset: int
    next_offset: int = field(name="nextOffset")
    log_start: int = field(name="logStart")
    high_watermark: int = field(name="highWatermark")
    epoch: int | None = None
