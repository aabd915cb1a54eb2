"""Finds messages to lease: asks the group, shows it what it has to see, and records what it passes over."""

import asyncio
from collections.abc import Callable

from cluster.ports.clock import Clock
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.leases import Lease
from storage.delivery.matching import receive_matching
from storage.node.groups.candidate_feeds import CandidateFeeds
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader


class LeaseFinder:
    """Of one partition. `on_more` is called with a group's id when it gave way before the group had seen
    everything."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        *,
        clock: Clock,
        settings: NodeSettings,
        on_more: Callable[[str], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._clock = clock
        self._looks_max = settings.looks_per_receive_max
        self._reach = settings.filter_reach_messages
        self._on_more = on_more
        self._feeds = CandidateFeeds(
            reader,
            lambda: host.readable_end,
            settings=settings,
            runs_max=delivery.state.settings.candidate_runs_max,
        )

    async def find(
        self,
        group: GroupInPartition,
        consumer: str,
        max_messages: int,
        visibility_ms: int,
        wall: int,
        *,
        filters: tuple[str, ...] = (),
        header: str | None = None,
    ) -> list[Lease]:
        """Below `wall`. None where there are none, or it has looked for long enough. `filters` are the group's, and
        so is the `header` that it is fair by.

        Where all that it saw is passed over, that is durable before it looks on (rule R41), or gathered where a filter
        does so; and one receive holds up nobody for longer than a look takes. What it has it gives at once where seeing
        more takes a read of the disk, unless that is to find what a filter leaves: then before they are half over.
        Raises ServerError: STORAGE_FAILED, INVALID_FILTER, what an append raises.
        """
        feed = self._feeds.of(filters, header=header)
        leases: list[Lease] = []
        late_ms = self._clock.monotonic_ms() + visibility_ms // 2
        try:
            for _ in range(self._looks_max):
                received = group.receive(
                    feed.index,
                    consumer=consumer,
                    max_messages=max_messages - len(leases),
                    visibility_ms=visibility_ms,
                    readable_end=min(self._host.readable_end, wall),
                    now_ms=self._clock.monotonic_ms(),
                )
                leases += received.leases
                if leases:
                    if received.skipped is not None:
                        self._delivery.write(received.skipped)
                    if received.wanted is None or len(leases) == max_messages:
                        return leases
                    has_shown = await feed.show_more(received.wanted)
                    leases = _still_out(group, leases)
                    if leases and (not has_shown or self._clock.monotonic_ms() >= late_ms):
                        return leases
                    continue
                if received.skipped is not None:
                    await self._delivery.commit(received.skipped)
                elif received.wanted is None:
                    return []
                if received.wanted is not None:
                    await feed.show(received.wanted)
        except asyncio.CancelledError:
            if leases:
                group.release(leases)
                self._on_more(group.group_id)
            raise
        if not leases:
            self._on_more(group.group_id)
        return leases

    async def find_matching(
        self, group: GroupDelivery, consumer: str, max_messages: int, visibility_ms: int, *, filters: tuple[str, ...]
    ) -> tuple[list[Lease], bool]:
        """As `find`, where the last of the filters is the call's own; and whether there is more to look at. Nothing is
        passed over."""
        feed = self._feeds.of(filters)
        leases: list[Lease] = []
        late_ms = self._clock.monotonic_ms() + visibility_ms // 2
        try:
            for _ in range(self._looks_max):
                received = receive_matching(
                    group,
                    feed.index,
                    consumer=consumer,
                    max_messages=max_messages - len(leases),
                    visibility_ms=visibility_ms,
                    readable_end=self._host.readable_end,
                    reach=self._reach,
                    now_ms=self._clock.monotonic_ms(),
                )
                leases += received.leases
                if received.wanted is None or len(leases) == max_messages:
                    return leases, received.is_reach_used_up
                if not leases:
                    await feed.show(received.wanted)
                    continue
                has_shown = await feed.show_more(received.wanted)
                leases = _still_out(group, leases)
                if leases and (not has_shown or self._clock.monotonic_ms() >= late_ms):
                    return leases, True
        except asyncio.CancelledError:
            if leases:
                group.release(leases)
                self._on_more(group.group_id)
            raise
        if not leases:
            self._on_more(group.group_id)
        return leases, True


def _still_out(group: GroupInPartition, leases: list[Lease]) -> list[Lease]:
    """To see more may take longer than a lease holds: what came back meanwhile may be somebody else's by now, or leased
    here once more."""
    state = group.state
    by_offset, generation = state.leases.by_offset, state.progress.generation
    return [
        lease
        for lease in leases
        if lease.generation == generation
        and (delivery := by_offset.get(lease.offset)) is not None
        and (delivery.leader_epoch, delivery.attempt) == (lease.leader_epoch, lease.attempt)
    ]
