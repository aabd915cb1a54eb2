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


class ProjectedOffsets(msgspec.Struct, frozen=True, rename="camel"):
    """The value of one (group, topic). Keys are partition numbers as text, as JSON wants them."""

    partitions: dict[str, ProjectedPartition]
