"""Topics and groups, for `await`."""

from collections.abc import Mapping, Sequence
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
from acklog.client import catalog_calls, member_calls
from acklog.client.caller import Caller
from acklog.deletions import DeletionResult
from acklog.errors import GroupExists, TopicExists
from acklog.members import GroupMembers
from acklog.positions import CommitResult, CopyResult, Position


class AsyncTopics:
    """`client.topics`. Every method raises AcklogError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def list(self, *, with_internal: bool = False) -> "list[Topic]":
        """All topics that the token may see, by name. `with_internal`: Acklog's own as well, which takes the right to
        everything."""
        topics: list[Topic] = []
        after: str | None = None
        while True:
            page = await self._caller.perform(catalog_calls.list_topics(after, with_internal=with_internal))
            topics += page.topics
            after = page.next
            if after is None:
                return topics

    async def get(self, name: str) -> TopicDescription:
        """The topic with the state of each partition. Raises TopicNotFound, with names like it in `near`."""
        return await self._caller.perform(catalog_calls.get_topic(name))

    async def create(
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
        call = catalog_calls.create_topic(
            name, partitions=partitions, replication_factor=replication_factor, config=config
        )
        return await self._caller.perform(call)

    async def ensure(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        **config: Unpack[TopicChanges],
    ) -> Topic:
        """The topic as it is; where there is none, it is created with these settings. Nothing is ever changed."""
        try:
            return await self.create(name, partitions, replication_factor=replication_factor, **config)
        except TopicExists:
            return await self.get(name)

    async def update(
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
        call = catalog_calls.update_topic(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            config=config,
            allow_data_loss=allow_data_loss,
        )
        return await self._caller.perform(call)

    async def partition(self, name: str, partition: int) -> PartitionDescription:
        """One partition with the groups that read it. Raises TopicNotFound, PartitionNotFound."""
        return await self._caller.perform(catalog_calls.get_partition(name, partition))

    async def decommission(self, name: str, partitions: Sequence[int]) -> Topic:
        """Let these partitions take no new messages; what they hold is read until retention frees it, and then they are
        gone. It cannot be undone. Raises TopicNotFound, InvalidField."""
        return await self._caller.perform(catalog_calls.decommission(name, partitions))

    async def purge(
        self, name: str, partitions: Sequence[int] | None = None, *, dry_run: bool = False
    ) -> DeletionResult:
        """Delete all messages that the topic holds now, or these partitions of it, for all groups; a `dry_run` only
        tells. Takes a token with the scope `purge`. Raises TopicNotFound, PartitionNotFound."""
        return await self._caller.perform(catalog_calls.purge(name, partitions, dry_run=dry_run))

    async def delete_before(
        self, name: str, *, offsets: Mapping[int, int] | None = None, time_ms: int | None = None, dry_run: bool = False
    ) -> DeletionResult:
        """Delete what is before these offsets, by partition, or was appended before a time; else as `purge`. Raises
        TopicNotFound, PartitionNotFound, OffsetOutOfRange."""
        call = catalog_calls.delete_before(name, offsets=offsets, time_ms=time_ms, dry_run=dry_run)
        return await self._caller.perform(call)

    async def delete(self, name: str) -> None:
        """Delete the topic and all its messages. Raises TopicNotFound."""
        await self._caller.perform(catalog_calls.delete_topic(name))


class AsyncGroups:
    """`client.groups`. Every method raises AcklogError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def list(self) -> "list[Group]":
        """All groups, by name."""
        groups: list[Group] = []
        after: str | None = None
        while True:
            page = await self._caller.perform(catalog_calls.list_groups(after))
            groups += page.groups
            after = page.next
            if after is None:
                return groups

    async def get(self, name: str) -> Group:
        """Raises GroupNotFound."""
        return await self._caller.perform(catalog_calls.get_group(name))

    async def create(self, name: str, *, mode: str | None = None, **settings: Unpack[GroupChanges]) -> Group:
        """Create the group. One that is there with the settings that are named is fine, so it is safe to repeat.

        Raises GroupExists, with the settings in `differing`, for one that has others: `update` changes them, `ensure`
        takes it as it is.
        """
        return await self._caller.perform(catalog_calls.create_group(name, mode=mode, settings=settings))

    async def ensure(self, name: str, *, mode: str | None = None, **settings: Unpack[GroupChanges]) -> Group:
        """The group as it is; where there is none, it is created with these settings. Nothing is ever changed."""
        try:
            return await self.create(name, mode=mode, **settings)
        except GroupExists:
            return await self.get(name)

    async def update(self, name: str, **settings: Unpack[GroupChanges]) -> Group:
        """Change what is named of the group. Raises GroupNotFound."""
        return await self._caller.perform(catalog_calls.update_group(name, settings=settings))

    async def pause(self, name: str, *, topic: str | None = None, partitions: Sequence[int] | None = None) -> Group:
        """Deliver nothing to the group, or nothing of the topic, or of these partitions of it, until it is resumed.
        What is leased may be settled. Raises GroupNotFound, TopicNotFound, PartitionNotFound."""
        return await self._caller.perform(catalog_calls.pause_group(name, topic, partitions))

    async def resume(self, name: str, *, topic: str | None = None, partitions: Sequence[int] | None = None) -> Group:
        """Let all that is paused within what is named go on. A topic stays paused while the group is, as a whole.

        Raises GroupNotFound, TopicNotFound, PartitionNotFound.
        """
        return await self._caller.perform(catalog_calls.resume_group(name, topic, partitions))

    async def delete(self, name: str) -> None:
        """Delete the group and its progress. Raises GroupNotFound."""
        await self._caller.perform(catalog_calls.delete_group(name))

    async def members(self, name: str) -> GroupMembers:
        """Who takes part in an exclusive group, and which partitions are whose. Raises GroupNotFound,
        WrongGroupMode."""
        return await self._caller.perform(member_calls.list_members(name))

    async def blocked(
        self, group: str, topic: str | Sequence[str] | None = None, *, limit: int | None = None
    ) -> BlockedMessages:
        """Messages whose attempts are used up and that wait for a decision, in a group with `on_exhausted` "block"; of
        all topics where none is named. Raises GroupNotFound, TopicNotFound."""
        topics = [] if topic is None else [topic] if isinstance(topic, str) else topic
        return await self._caller.perform(catalog_calls.blocked_messages(group, topics, limit))

    async def release_blocked(
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
        call = catalog_calls.decide_blocked(
            group, "release", topic=topic, key=key, partition=partition, offset=offset, message_id=message_id
        )
        return await self._caller.perform(call)

    async def skip_blocked(
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
        call = catalog_calls.decide_blocked(
            group, "skip", topic=topic, key=key, partition=partition, offset=offset, message_id=message_id
        )
        return await self._caller.perform(call)

    async def offsets(self, group: str, topic: str | Sequence[str] | None = None) -> GroupOffsets:
        """How far the group is, partition by partition, and how far behind. Raises GroupNotFound, TopicNotFound."""
        topics = [] if topic is None else [topic] if isinstance(topic, str) else topic
        return await self._caller.perform(catalog_calls.group_offsets(group, topics))

    async def demand(
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
        topics = [] if topic is None else [topic] if isinstance(topic, str) else topic
        call = catalog_calls.group_demand(group, topics, target_lag=target_lag, target_seconds=target_seconds)
        return await self._caller.perform(call)

    async def commit(
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
        call = catalog_calls.commit(group, positions, member=member, member_epoch=member_epoch)
        return await self._caller.perform(call)

    async def seek(
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
        call = catalog_calls.seek(
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
        return await self._caller.perform(call)

    async def copy_position(
        self, group: str, from_group: str, *, topics: Sequence[str] | None = None, dry_run: bool = False
    ) -> CopyResult:
        """Let the group go on where another one is, in these topics or in all that the other one reads. `dry_run` says
        where that would be. What the other one has done above its progress comes to this one. Raises GroupNotFound,
        TopicNotFound."""
        call = catalog_calls.copy_position(group, from_group, topics=topics, dry_run=dry_run)
        return await self._caller.perform(call)
