"""What a gateway and a storage node say to each other about one message: see `storage.rpc.messages`."""

import msgspec

from acklog.wire.failure_reason import FailureReason
from acklog.wire.record import Record


class _InspectMessage(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


class InspectRequest(_InspectMessage):
    """One message and its state per group; leases nothing."""

    topic_id: str
    partition: int
    offset: int
    leader_epoch: int


class MessageInGroup(_InspectMessage):
    """A message as one group sees it. `state`: waiting, waitingForGrowth, delayed, leased, deadLettering, blocked,
    done, deadLettered.

    `until_ms` (leased, delayed) is a duration from now; -1 where there is none. `consumer` has it; before, it failed
    with `last_consumer` ("": that is not known), for these `reasons`, as far as consumers said so, the oldest first.
    `limit` (waiting) is what keeps it from going out, as an empty answer says it, "" where none does; `unreadable` the
    offset of the message before it that stops an exclusive group's partition as nobody can read it, -1 for none.
    """

    group_id: str
    state: str
    attempts: int
    until_ms: int = -1
    consumer: str = ""
    last_consumer: str = ""
    reasons: tuple[FailureReason, ...] = ()
    limit: str = ""
    unreadable: int = -1


class InspectResponse(_InspectMessage):
    record: Record
    leader_epoch: int
    append_time_ms: int
    groups: list[MessageInGroup]
