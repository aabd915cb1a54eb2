"""The value of the offset store: how far a group is in a topic's partitions, as their leaders last said."""

import msgspec


class ProjectedPartition(msgspec.Struct, frozen=True, rename="camel"):
    """`offset` is the first not done; `done_above` counts the done ones above it. `generation` is the group's number
    of seeks, -1 where an earlier version wrote this: within one, `offset` never falls."""

    offset: int
    done_above: int
    leader_epoch: int
    version: int
    generation: int = -1


class FirstContact(msgspec.Struct, frozen=True, rename="camel"):
    """When a group began to read a topic, by the wall clock of the node that it came to, and how many partitions the
    topic had then: what is in a later one came after."""

    at_ms: int
    partitions: int


class ProjectedOffsets(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The value of one (group, topic). Keys are partition numbers as text, as JSON wants them. `first_contact` is that
    of a group that begins with the latest; earlier versions know none."""

    partitions: dict[str, ProjectedPartition]
    first_contact: FirstContact | None = None
