"""When groups that begin with the latest began to read their topics.

`latest` is where a group begins in a topic, not in each of its partitions: what comes into one that the topic gets
later, or that could not be asked when the group began, has come after (as KIP-842). Each node sees its own partitions
only, so the offset store remembers it for all.
"""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.projected_offsets import FirstContact
from cluster.model.values import Group, MissingPosition, StartPosition, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError
from storage.node.offset_projection import OffsetProjection
from storage.node.replicas.held_replicas import HeldReplicas
from storage.replication.leadership import UNAVAILABLE_RETRY_MS


class FirstContacts:
    """Of one node."""

    def __init__(self, projection: OffsetProjection, held: HeldReplicas, clock: Clock) -> None:
        self._projection = projection
        self._held = held
        self._clock = clock

    async def earlier(self, group: Group, topic: Topic) -> FirstContact | None:
        """Of a group that has read the topic before; None where this is its first contact, and where it does not
        matter, as the group begins with the earliest. Raises ServerError UNAVAILABLE."""
        if not _depends_on_it(group):
            return None
        try:
            known = await self._projection.known(group.id, topic.id)
        except CoordinationError as error:
            raise _unavailable(error) from error
        if known is not None and known.first_contact is not None:
            return known.first_contact
        # An earlier version notes none, and a partition that has begun may not be in the offset store yet.
        has_begun = known is not None or any(
            replica.groups.knows(group.id) for replica in self._held.of_topic(topic.id).values()
        )
        return FirstContact(group.created_at_ms, topic.partitions) if has_begun else None

    async def meet(self, group: Group, topic: Topic) -> FirstContact | None:
        """As `earlier`. A first contact is durable on return, before anything is begun: a node that meets the group
        from now on knows of it."""
        earlier = await self.earlier(group, topic)
        if earlier is not None or not _begins_with_latest(group):
            return earlier
        contact = FirstContact(self._clock.now_ms(), topic.partitions)
        try:
            if await self._projection.note_first_contact(group.id, topic.id, contact):
                return None
        except CoordinationError as error:
            raise _unavailable(error) from error
        return await self.earlier(group, topic)  # another node met it at the same time


def _depends_on_it(group: Group) -> bool:
    return _begins_with_latest(group) or group.settings.on_missing_position is MissingPosition.REFUSE


def _begins_with_latest(group: Group) -> bool:
    """By itself: where it is to be told its positions, its first contact begins nothing."""
    settings = group.settings
    return (
        settings.start_position is StartPosition.LATEST and settings.on_missing_position is not MissingPosition.REFUSE
    )


def _unavailable(error: CoordinationError) -> ServerError:
    detail = f"Whether the group has read the topic before cannot be asked now: {error}"
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
