"""One partition's groups as its leader runs them: receives, settlements, seeks.

The delivery state machine decides, `DeliveryHost` makes its records durable, `LeasedReceives` reads the messages; this
host tells the waiting receives when something came back. What time does by itself is in `DeliverySteps`.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog
from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.projected_offsets import FirstContact
from cluster.model.restored_topic import check_whole
from cluster.model.values import Group
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from storage.delivery.group_in_partition import GroupInPartition, SettleDecision
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.records import Acked, GroupRemoved, Returned, Started
from storage.delivery.states import MessageState
from storage.node.groups.cut_log import gone_with_log
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.given_up_figures import GivenUpFigures, LossCause
from storage.node.groups.group_positions import position_of
from storage.node.groups.lease_reader import LeaseReader
from storage.node.groups.leased_receives import NOTHING, LeasedReceives, Share, item_of
from storage.node.groups.owned_receives import OwnedReceives, OwnedShare
from storage.node.groups.partition_walls import PartitionWalls
from storage.node.groups.repeated_receives import RepeatedReceives
from storage.node.groups.start_positions import StartPositions
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.rpc.inspect_messages import MessageInGroup
from storage.rpc.messages import DeliveredMessage, GroupPosition, ReceiveRequest, SettleRequest, SettleResponse

logger = structlog.get_logger(__name__)

GROUP_LIMIT_RETRY_MS = 1000
_LIMITS = ("IN_FLIGHT_LIMIT", "IN_FLIGHT_LIMIT_OF_RETURNED", "IN_FLIGHT_LIMIT_PER_KEY", "IN_FLIGHT_LIMIT_PER_HEADER")
WAITING_FOR_GROWTH = "WAITING_FOR_GROWTH"
BEHIND_GROWTH = "waitingForGrowth"
"""The state of a message for a group that does not get it before it has done what was sent before a growth."""
_WAITING = ("REBALANCING", "ALL_LEASED", "DELAYED", "BLOCKED", "FILTER_REACH", WAITING_FOR_GROWTH)
_REASONS = (*_LIMITS, "PAUSED", *_WAITING, "EMPTY")
"""What a consumer should know first."""
_UNKNOWN_HERE = frozenset({ProblemCode.NOT_DELIVERED, ProblemCode.MESSAGE_NOT_FOUND, ProblemCode.INVALID_RECEIPT})
"""What another leader may know."""


def empty_reason_of(reasons: Iterable[str]) -> str:
    """The most telling of several partitions' reasons."""
    found = set(reasons)
    return next((reason for reason in _REASONS if reason in found), "EMPTY")


class PartitionGroups:
    """`on_returned(group_id, partition)` is called when a group may have something to deliver again."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        steps: DeliverySteps,
        walls: PartitionWalls,
        *,
        figures: GivenUpFigures,
        clock: Clock,
        entropy: Entropy,
        settings: NodeSettings,
        on_returned: Callable[[str, int], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._state = delivery.state
        self._receives = LeasedReceives(
            host, delivery, reader, steps, clock=clock, settings=settings, on_returned=on_returned
        )
        self._owned = OwnedReceives(self._receives, delivery, steps, clock=clock, on_returned=self.something_returned)
        self.repeated = RepeatedReceives(delivery, LeaseReader(host, reader, clock), steps, clock)
        self.start_positions = StartPositions(host)
        self._steps = steps
        self._walls = walls
        self._figures = figures
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._on_returned = on_returned
        self.serving_turns: dict[str, int] = {}
        """When the owner of the partition was last given something, by group, as its node counts."""
        self._starting: dict[str, asyncio.Future[None]] = {}

    @property
    def applied_records(self) -> int:
        return self._state.applied_records

    def states(self) -> list[GroupInPartition]:
        """Of all groups that have had their first contact."""
        return list(self._state.groups())

    def group_ids(self) -> list[str]:
        return self._state.group_ids()

    # --- a group's first contact -----------------------------------------------------------------------------------

    def knows(self, group_id: str) -> bool:
        """Whether the group has had its first contact with the partition."""
        return self._state.group(group_id) is not None

    async def start(self, group: Group, projected_offset: int | None, contact: FirstContact | None = None) -> None:
        """Give the group its start position here, durably, unless it has one.

        `projected_offset` is what the offset store knows: a partition that lost its delivery state goes on from there.
        `contact` says that the group reads the topic's other partitions already: this one is new (the topic has grown;
        as KIP-842) or was missed, so a group at `latest` starts with what was appended since, or it would lose that.
        """
        while self._state.group(group.id) is None:
            starting = self._starting.get(group.id)
            if starting is None:
                await self._start(group, projected_offset, contact)
                return
            await asyncio.shield(starting)

    async def position(self, group: Group, projected_offset: int | None, contact: FirstContact | None) -> int:
        """How far the group is; where `start` would have it begin, if it has not. Raises ServerError as that does."""
        state = self._state.group(group.id)
        if state is not None:
            return state.progress
        self._check_group_limit()
        return self.start_positions.within_log(await self.start_positions.start_of(group, projected_offset, contact))

    async def _start(self, group: Group, projected_offset: int | None, contact: FirstContact | None) -> None:
        """Whoever waits fails as this does; or begins anew, where this was only given up."""
        self._starting[group.id] = starting = asyncio.get_running_loop().create_future()
        try:
            self._check_group_limit()
            offset = await self.start_positions.start_of(group, projected_offset, contact)
            within = self.start_positions.within_log(offset)
            (logger.info if within == offset else logger.warning)(
                "group_started" if within == offset else "group_position_out_of_range",
                group=group.name,
                topic=self._host.topic.name,
                partition=self._host.partition,
                offset=within,
                is_projected=projected_offset is not None,
            )
            await self._delivery.commit(Started(group.id, within))
            self._on_returned(group.id, self._host.partition)  # somebody may have looked here before, for nothing
        except ServerError as error:
            starting.set_exception(error)
            starting.exception()  # nobody may wait
            raise
        finally:
            del self._starting[group.id]
            if not starting.done():
                starting.set_result(None)

    def _check_group_limit(self) -> None:
        if self._state.is_full:
            raise ServerError(
                ProblemCode.OVERLOADED,
                f"The partition has {self._settings.groups_per_partition_max} groups already, that is the limit.",
                field="group",
                retry_after_ms=GROUP_LIMIT_RETRY_MS,
            )

    async def remove(self, group_id: str) -> None:
        """Forget a deleted group, durably."""
        await self._delivery.commit(GroupRemoved(group_id))
        self._owned.forget(group_id)
        self.repeated.forget(group_id)
        self.serving_turns.pop(group_id, None)
        self._walls.forget(group_id)

    # --- receive ---------------------------------------------------------------------------------------------------

    async def receive(
        self, request: ReceiveRequest, group: Group, max_messages: int, max_bytes: int, is_first: bool
    ) -> Share:
        """As `LeasedReceives.give`. Raises ServerError UNAVAILABLE, too: this leader may be over."""
        state = self._state.as_it_is_set(group)
        if state is None:
            return NOTHING
        self._delivery.check_sure()
        check_whole(self._host.topic)
        if state.progress < self._host.readable_start:
            await self._jump(state)
        self.start_positions.check_not_overtaken(group, state)
        wall = await self._walls.end_for(group, state)
        return await self._receives.give(state, request, group.settings, max_messages, max_bytes, is_first, wall)

    async def receive_owned(
        self,
        request: ReceiveRequest,
        group: Group,
        claim: OwnershipClaim,
        max_messages: int,
        max_bytes: int,
        is_first: bool,
    ) -> OwnedShare:
        """As `OwnedReceives.give`. Raises ServerError UNAVAILABLE, too: this leader may be over."""
        state = self._state.as_it_is_set(group)
        if state is None:
            return OwnedShare(NOTHING, ClaimVerdict.WAITING)
        self._delivery.check_sure()
        check_whole(self._host.topic)
        if state.progress < self._host.readable_start:
            await self._jump(state)
        self.start_positions.check_not_overtaken(group, state)
        wall = await self._walls.end_for(group, state)
        return await self._owned.give(state, claim, request, group.settings, max_messages, max_bytes, is_first, wall)

    def release_delivered(self, group_id: str, message: DeliveredMessage) -> None:
        """The answer with this message could not be written."""
        state = self._state.group(group_id)
        if state is not None and message.receipt:
            self._receives.release(state, [item_of(message.receipt)])

    def in_flight_of(self, group_id: str, consumer: str) -> int:
        """Messages that a consumer of the group has leased."""
        state = self._state.group(group_id)
        return 0 if state is None else state.in_flight_of(consumer)

    def empty_reason(self, group_id: str) -> str:
        state = self._state.group(group_id)
        if state is None:
            return "EMPTY"
        wall, readable_end = self._walls.met_by(group_id), self._host.readable_end
        reason = state.empty_reason(readable_end=min(readable_end, wall), now_ms=self._clock.monotonic_ms())
        return WAITING_FOR_GROWTH if reason == "EMPTY" and wall < readable_end else reason

    def progress_of(self, group_id: str) -> int | None:
        """The first offset that the group has not done; None before its first contact."""
        state = self._state.group(group_id)
        return None if state is None else state.progress

    # --- settle ----------------------------------------------------------------------------------------------------

    async def settle(self, request: SettleRequest, group: Group) -> SettleResponse:
        """Acks and nacks are durable on return (rule R25).

        Raises ServerError UNAVAILABLE for receipts of a later leader, and where another leader may know better.
        """
        self._delivery.check_epochs(request.items)
        gone = gone_with_log(request.items, self._host)
        if gone is not None:
            self._delivery.check_sure()
            return await self._settle_without(gone, request, group)
        state = self._state.as_it_is_set(group)
        if state is None:
            self._delivery.check_sure()
            return SettleResponse([ProblemCode.NOT_DELIVERED.name] * len(request.items))
        if request.action == "release":
            state.release(request.items)
            self._on_returned(group.id, self._host.partition)
            return SettleResponse([""] * len(request.items))
        readable_end = self._host.readable_end
        settlement: SettleDecision[Acked] | SettleDecision[Returned]
        if request.action == "ack":
            settlement = state.ack(request.items, readable_end=readable_end)
        elif request.action == "nack":
            settlement = state.nack(
                request.items,
                delay_ms=None if request.delay_ms < 0 else request.delay_ms,
                jitter=self._entropy.fraction(),
                readable_end=readable_end,
                wall_now_ms=self._clock.now_ms(),
                reason=request.reason,
            )
        elif request.action == "extend":
            self._delivery.check_sure()  # it is granted without a record, and so without a follower's word
            settlement = state.extend(
                request.items,
                visibility_ms=request.visibility_ms,
                readable_end=readable_end,
                now_ms=self._clock.monotonic_ms(),
                wall_now_ms=self._clock.now_ms(),
            )
        else:
            raise ServerError(ProblemCode.INVALID_FIELD, f"{request.action!r} is no action.", field="action")
        if settlement.record is None and ProblemCode.UNAVAILABLE in settlement.results:
            detail = "The partition is changing hands."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        if settlement.record is None and not _UNKNOWN_HERE.isdisjoint(settlement.results):
            self._delivery.check_sure()  # a record that gets committed shows that nobody else leads
        if settlement.record is not None:
            self._delivery.record_passed_over(state)
            await self._delivery.commit(settlement.record)
            # Messages came back, or room in the in-flight window did: somebody may be waiting for either.
            self._on_returned(state.group_id, self._host.partition)
        self._steps.arm()
        repeated = _repeated(settlement) if request.action == "ack" else 0
        return SettleResponse(["" if code is None else code.name for code in settlement.results], repeated)

    async def _settle_without(self, gone: list[str], request: SettleRequest, group: Group) -> SettleResponse:
        """What is gone with its log counts as what it is, and the rest is settled."""
        kept = [item for item, code in zip(request.items, gone, strict=True) if not code]
        rest = await self.settle(replace(request, items=kept), group) if kept else SettleResponse([])
        settled = iter(rest.results)
        return SettleResponse([code or next(settled) for code in gone], rest.repeated)

    async def seek(self, group: Group, offset: int) -> int:
        """Set the group's progress, durably; returns what it was. Every older receipt is stale from then on."""
        state = self._state.group(group.id)
        if state is None:
            raise ServerError(ProblemCode.UNAVAILABLE, "The group has no state in the partition yet.")
        previous = state.progress
        await self._delivery.commit(state.seek(offset))
        self._on_returned(group.id, self._host.partition)
        logger.info(
            "group_sought",
            group=group.name,
            topic=self._host.topic.name,
            partition=self._host.partition,
            previous=previous,
            offset=offset,
        )
        return previous

    async def claim(self, state: GroupInPartition, claim: OwnershipClaim) -> ClaimVerdict:
        """Whether the partition is the claimant's, as it becomes by this if it may."""
        return await self._owned.claim(state, claim)

    def something_returned(self, group_id: str) -> None:
        """There may be messages for the group, or room for them: whoever waits looks again."""
        self._on_returned(group_id, self._host.partition)

    def close(self) -> None:
        """Nothing is asked of it any more."""
        self._walls.close()

    # --- look ------------------------------------------------------------------------------------------------------

    def positions(self) -> list[GroupPosition]:
        return [position_of(state) for state in self._state.groups()]

    def views(self, offset: int) -> list[MessageInGroup]:
        """The message at `offset` as every group sees it."""
        now_ms = self._clock.monotonic_ms()
        views = []
        for state in self._state.groups():
            found = state.describe(offset, readable_end=self._host.readable_end, now_ms=now_ms)
            is_behind_wall = found.state == MessageState.WAITING.value and offset >= self._walls.met_by(state.group_id)
            views.append(
                MessageInGroup(
                    state.group_id,
                    BEHIND_GROWTH if is_behind_wall else found.state,
                    found.attempts,
                    found.until_ms,
                    found.consumer,
                    found.history.last_consumer,
                    found.history.reasons,
                )
            )
        return views

    def undone_below(self, offset: int) -> dict[str, int]:
        """What each group has not done of that, where it is something."""
        undone = {state.group_id: state.undone_below(offset) for state in self._state.groups()}
        return {group_id: count for group_id, count in undone.items() if count}

    async def advance_log_start(self) -> None:
        """What is gone, by retention or on purpose, beats unacknowledged: groups that lose by it jump, and it is
        logged, counted and visible."""
        await asyncio.gather(*(self._jump(state) for state in self._state.groups()))

    async def _jump(self, state: GroupInPartition) -> None:
        record = state.advance_log_start(self._host.readable_start, deleted_below=self._host.deleted_below)
        if record is None:
            return
        await self._delivery.commit(record)
        cause = LossCause.DELETED if record.is_deleted else LossCause.RETENTION
        self._figures.note_losses((self._host.topic.name, state.group_id), cause, record.lost)
        logger.warning(
            "group_jumped_by_retention",
            group_id=state.group_id,
            topic=self._host.topic.name,
            partition=self._host.partition,
            to_offset=record.to_offset,
            lost=record.lost,
        )
        self._on_returned(state.group_id, self._host.partition)  # a receive may have met what was removed


def _repeated(settlement: SettleDecision[Acked] | SettleDecision[Returned]) -> int:
    """Acks that found their message done already."""
    newly = sum(settlement.record.runs[1::2]) if isinstance(settlement.record, Acked) else 0
    return max(0, settlement.results.count(None) - newly)
