"""Values of the coordination store, which operators and other versions write as well: what a process knows of them."""

from collections.abc import Callable
from typing import cast

import msgspec

from app.auth.stored_tokens import StoredTokens, principal_of_stored
from cluster.metadata.changed_topics import ChangedTopics
from cluster.metadata.metadata_state import MetadataState
from cluster.metadata.metadata_view import MetadataView
from cluster.metadata.producer_state import ProducerState
from cluster.metadata.queue_state import QueueState
from cluster.metadata.recurring_state import RecurringState
from cluster.metadata.redrive_state import RedriveState
from cluster.metadata.steering_state import SteeringState
from cluster.metadata.token_state import TokenState
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.redrives import RedriveJob, RedrivePart
from cluster.model.sqs_queue import SqsQueue
from cluster.model.steering import ClusterSteering, NodeSteering, PartitionOrder
from cluster.model.stored_token import ShownToken, StoredToken
from cluster.model.values import (
    ControllerClaim,
    Group,
    NamedProducer,
    NodeRegistration,
    PartitionState,
    Tombstone,
    Topic,
)
from cluster.ports.coordination import Changed, Event, KeyValue, Removed
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_ID = "0123456789abc"
_SHOWN = ShownToken(_ID, "k" * 52)
_KINDS: dict[str, type[msgspec.Struct]] = {
    keys.topic("orders"): Topic,
    keys.partition(_ID, 3): PartitionState,
    keys.group("mail"): Group,
    keys.node(1): NodeRegistration,
    keys.offsets(_ID, _ID): ProjectedOffsets,
    keys.producer(_ID, "shop"): NamedProducer,
    keys.recurring(_ID, "nightly"): RecurringSchedule,
    keys.redrive(_ID, _ID): RedriveJob,
    keys.redrive_part(_ID, 3): RedrivePart,
    keys.sqs_queue("orders"): SqsQueue,
    keys.stored_token("shop"): StoredToken,
    keys.tombstone(_ID): Tombstone,
    keys.CONTROLLER: ControllerClaim,
    keys.STEERING_CLUSTER: ClusterSteering,
    keys.node_steering(1): NodeSteering,
    keys.partition_order(_ID, 3): PartitionOrder,
}


def _seeds() -> list[bytes]:
    found = [joined(key.encode(), encode(built(kind, variant))) for key, kind in _KINDS.items() for variant in range(2)]
    return [*found, joined(keys.partition(_ID, 0).replace("0000", "x").encode(), b"{}"), joined(b"/other", b"1")]


def _read(data: bytes) -> None:
    name, value = parts_of(data, 2)
    key = name.decode("utf-8", "replace")
    event = Changed(KeyValue(key, value, 1, 2, 1))
    for follow in _followers():
        follow(event)
        follow(event)
        follow(Removed(key, 3))
    _check_value(_KINDS.get(key, Topic), value)


def _followers() -> list[Callable[[Event], object]]:
    """What feeds on the store: values that are not understood do not show, and stop nobody."""
    return [
        MetadataState(ChangedTopics()).apply,
        ProducerState().apply,
        QueueState().apply,
        RecurringState().apply,
        RedriveState().apply,
        SteeringState().apply,
        _Tokens().apply,
    ]


class _Tokens:
    """A gateway that knows the stored tokens."""

    def __init__(self) -> None:
        self.tokens = TokenState()

    def apply(self, event: Event) -> None:
        self.tokens.apply(event)
        StoredTokens(cast(MetadataView, self)).find(str(_SHOWN), 1)
        for token in self.tokens.all():
            principal = principal_of_stored(token)
            for action in Action:
                principal.may_on_topic(action, "orders")
                principal.may_on_group(action, "mail")


def _check_value(kind: type[msgspec.Struct], value: bytes) -> None:
    found = decode(kind, value)
    written = encode(found)
    assert encode(decode(kind, written)) == written
    instead = encode_instead(found, value)
    assert encode(decode(kind, instead)) == written, "what is kept of a newer version changes what is known"


TARGET = FuzzTarget(_read, (msgspec.DecodeError,), _seeds)
