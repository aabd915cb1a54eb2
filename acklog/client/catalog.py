"""Topics and groups, without `await`. What each method does stands with its twin in `async_catalog`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Unpack

from acklog.catalog import (
    BlockedDecision,
    BlockedMessages,
    Group,
    GroupChanges,
    GroupDemand,
    GroupOffsets,
    PartitionDescription,
    SeekResult,
    Topic,
    TopicChanges,
    TopicDescription,
)
from acklog.client.async_catalog import AsyncGroups, AsyncTopics
from acklog.client.background import Background
from acklog.deletions import DeletionResult
from acklog.members import GroupMembers
from acklog.positions import CommitResult, CopyResult, Position


class Topics:
    """`client.topics`. Every method raises AcklogError."""

    def __init__(self, background: Background, twin: Callable[[], AsyncTopics]) -> None:
        self._run = background.run
        self._twin = twin

    def list(self, *, with_internal: bool = False) -> "list[Topic]":
        """All topics that the token may see, by name. `with_internal`: Acklog's own as well, which takes the right to
        everything."""
        return self._run(lambda: self._twin().list(with_internal=with_internal))

    def get(self, name: str) -> TopicDescription:
        """The topic with the state of each partition. Raises TopicNotFound, with names like it in `near`."""
        return self._run(lambda: self._twin().get(name))

    def create(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        **config: Unpack[TopicChanges],
    ) -> Topic:
        """Create the topic. One that is there with the settings that are named is fine, so it is safe to repeat.

        Raises TopicExists, with the settings in `differing`, for one that has others: `update` changes them, `ensure`
        takes it as it is.
        """
        return self._run(lambda: self._twin().create(name, partitions, replication_factor=replication_factor, **config))

    def ensure(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        **config: Unpack[TopicChanges],
    ) -> Topic:
        """The topic as it is; where there is none, it is created with these settings. Nothing is ever changed."""
        return self._run(lambda: self._twin().ensure(name, partitions, replication_factor=replication_factor, **config))

    def update(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        allow_data_loss: bool = False,
        **config: Unpack[TopicChanges],
    ) -> Topic:
        """Change what is named of the topic. Partitions can be added, and decommissioned, but not taken away.

        A change that can delete messages (shorter retention, smaller files) wants `allow_data_loss=True`. Raises
        TopicNotFound, DataLossNotAllowed.
        """
        return self._run(
            lambda: self._twin().update(
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                allow_data_loss=allow_data_loss,
                **config,
            )
        )

    def partition(self, name: str, partition: int) -> PartitionDescription:
        """One partition with the groups that read it. Raises TopicNotFound, PartitionNotFound."""
        return self._run(lambda: self._twin().partition(name, partition))

    def decommission(self, name: str, partitions: Sequence[int]) -> Topic:
        """Let these partitions take no new messages; what they hold is read until retention frees it, and then they are
        gone. It cannot be undone. Raises TopicNotFound, InvalidField."""
        return self._run(lambda: self._twin().decommission(name, partitions))

    def purge(self, name: str, partitions: Sequence[int] | None = None, *, dry_run: bool = False) -> DeletionResult:
        """Delete all messages that the topic holds now, or these partitions of it, for all groups; a `dry_run` only
        tells. Takes a token with the scope `purge`. Raises TopicNotFound, PartitionNotFound."""
        return self._run(lambda: self._twin().purge(name, partitions, dry_run=dry_run))

    def delete_before(
        self, name: str, *, offsets: Mapping[int, int] | None = None, time_ms: int | None = None, dry_run: bool = False
    ) -> DeletionResult:
        """Delete what is before these offsets, by partition, or was appended before a time; else as `purge`. Raises
        TopicNotFound, PartitionNotFound, OffsetOutOfRange."""
        return self._run(lambda: self._twin().delete_before(name, offsets=offsets, time_ms=time_ms, dry_run=dry_run))

    def delete(self, name: str) -> None:
        """Delete the topic and all its messages. Raises TopicNotFound."""
        self._run(lambda: self._twin().delete(name))


class Groups:
    """`client.groups`. Every method raises AcklogError."""

    def __init__(self, background: Background, twin: Callable[[], AsyncGroups]) -> None:
        self._run = background.run
        self._twin = twin

    def list(self) -> "list[Group]":
        """All groups, by name."""
        return self._run(lambda: self._twin().list())

    def get(self, name: str) -> Group:
        """Raises GroupNotFound."""
        return self._run(lambda: self._twin().get(name))

    def create(self, name: str, *, mode: str | None = None, **settings: Unpack[GroupChanges]) -> Group:
        """Create the group. One that is there with the settings that are named is fine, so it is safe to repeat.

        Raises GroupExists, with the settings in `differing`, for one that has others: `update` changes them, `ensure`
        takes it as it is.
        """
        return self._run(lambda: self._twin().create(name, mode=mode, **settings))

    def ensure(self, name: str, *, mode: str | None = None, **settings: Unpack[GroupChanges]) -> Group:
        """The group as it is; where there is none, it is created with these settings. Nothing is ever changed."""
        return self._run(lambda: self._twin().ensure(name, mode=mode, **settings))

    def update(self, name: str, **settings: Unpack[GroupChanges]) -> Group:
        """Change what is named of the group. Raises GroupNotFound."""
        return self._run(lambda: self._twin().update(name, **settings))

    def pause(self, name: str, *, topic: str | None = None, partitions: Sequence[int] | None = None) -> Group:
        """Deliver nothing to the group, or nothing of the topic, or of these partitions of it, until it is resumed.
        What is leased may be settled. Raises GroupNotFound, TopicNotFound, PartitionNotFound."""
        return self._run(lambda: self._twin().pause(name, topic=topic, partitions=partitions))

    def resume(self, name: str, *, topic: str | None = None, partitions: Sequence[int] | None = None) -> Group:
        """Let all that is paused within what is named go on. A topic stays paused while the group is, as a whole.

        Raises GroupNotFound, TopicNotFound, PartitionNotFound.
        """
        return self._run(lambda: self._twin().resume(name, topic=topic, partitions=partitions))

    def delete(self, name: str) -> None:
        """Delete the group and its progress. Raises GroupNotFound."""
        self._run(lambda: self._twin().delete(name))

    def members(self, name: str) -> GroupMembers:
        """Who takes part in an exclusive group, and which partitions are whose. Raises GroupNotFound,
        WrongGroupMode."""
        return self._run(lambda: self._twin().members(name))

    def blocked(
        self, group: str, topic: str | Sequence[str] | None = None, *, limit: int | None = None
    ) -> BlockedMessages:
        """Messages whose attempts are used up and that wait for a decision, in a group with `on_exhausted` "block"; of
        all topics where none is named. Raises GroupNotFound, TopicNotFound."""
        return self._run(lambda: self._twin().blocked(group, topic, limit=limit))

    def release_blocked(
        self,
        group: str,
        *,
        topic: str | None = None,
        key: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        message_id: str | None = None,
    ) -> BlockedDecision:
        """Let a message of `topic` and `key`, or of a place or an id, go out again; its attempts begin anew.

        Raises GroupNotFound, TopicNotFound, MessageNotFound, NotBlocked.
        """
        return self._run(
            lambda: self._twin().release_blocked(
                group, topic=topic, key=key, partition=partition, offset=offset, message_id=message_id
            )
        )

    def skip_blocked(
        self,
        group: str,
        *,
        topic: str | None = None,
        key: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        message_id: str | None = None,
    ) -> BlockedDecision:
        """Let it be done, though nobody handled it: what is behind it goes on. Names it, and raises, as
        `release_blocked` does."""
        return self._run(
            lambda: self._twin().skip_blocked(
                group, topic=topic, key=key, partition=partition, offset=offset, message_id=message_id
            )
        )

    def offsets(self, group: str, topic: str | Sequence[str] | None = None) -> GroupOffsets:
        """How far the group is, partition by partition, and how far behind. Raises GroupNotFound, TopicNotFound."""
        return self._run(lambda: self._twin().offsets(group, topic))

    def demand(
        self,
        group: str,
        topic: str | Sequence[str] | None = None,
        *,
        target_lag: int | None = None,
        target_seconds: float | None = None,
    ) -> GroupDemand:
        """How much the group has to do, and how many consumers that takes: with `target_lag` messages before each, or
        all done within `target_seconds`. Where topics are named, what it has not begun to read counts, too. Raises
        GroupNotFound, TopicNotFound."""
        return self._run(
            lambda: self._twin().demand(group, topic, target_lag=target_lag, target_seconds=target_seconds)
        )

    def commit(
        self,
        group: str,
        positions: Sequence[Position],
        *,
        member: str | None = None,
        member_epoch: int | None = None,
    ) -> CommitResult:
        """Say how far a reader is that keeps its own positions: everything below them is done for the group.

        It goes forward only, unless a position has `expected`. Positions that could not be committed have a `problem`.
        Members of exclusive groups say who they are. Raises GroupNotFound, TopicNotFound; where all fail alike
        CommitConflict, OffsetOutOfRange, LogDiverged, MemberFenced.
        """
        return self._run(lambda: self._twin().commit(group, positions, member=member, member_epoch=member_epoch))

    def seek(
        self,
        group: str,
        topic: str,
        *,
        to_offset: int | None = None,
        to_time_ms: int | None = None,
        to_earliest: bool = False,
        to_latest: bool = False,
        to_relative: int | None = None,
        to_message_id: str | None = None,
        partition: int | None = None,
        dry_run: bool = False,
    ) -> SeekResult:
        """Send the group to another position: give exactly one target. Receipts of before are stale from then on.
        `to_relative` counts messages from where the group is, forward or (below 0) back.

        `dry_run` says where it would go. Partitions that could not be moved have a `problem`. Raises GroupNotFound,
        TopicNotFound, OffsetOutOfRange.
        """
        return self._run(
            lambda: self._twin().seek(
                group,
                topic,
                to_offset=to_offset,
                to_time_ms=to_time_ms,
                to_earliest=to_earliest,
                to_latest=to_latest,
                to_relative=to_relative,
                to_message_id=to_message_id,
                partition=partition,
                dry_run=dry_run,
            )
        )

    def copy_position(
        self, group: str, from_group: str, *, topics: Sequence[str] | None = None, dry_run: bool = False
    ) -> CopyResult:
        """Let the group go on where another one is, in these topics or in all that the other one reads. `dry_run` says
        where that would be. What the other one has done above its progress comes to this one. Raises GroupNotFound,
        TopicNotFound."""
        return self._run(lambda: self._twin().copy_position(group, from_group, topics=topics, dry_run=dry_run))
