"""Receives of exclusive groups on one node: each looks at the partitions that its member owns, and at no others."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from cluster.errors import ServerError
from cluster.model.pauses import is_paused
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.node.groups.partition_groups import empty_reason_of
from storage.node.groups.waiting import ClaimingReceive, Place, TopicReaders
from storage.node.replicas.led_partition import Partition
from storage.rpc.membership_messages import Ownership
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse

PartitionsOf = Callable[[str], Mapping[int, Partition]]
StartGroups = Callable[[Group, list[str]], Awaitable[bool]]
FENCED = "FENCED"
PAUSED = "PAUSED"


class _Found(NamedTuple):
    messages: list[DeliveredMessage]
    verdicts: list[ClaimVerdict]
    overtaken: list[Ownership]


class ExclusiveReceiver:
    """`admit` counts who waits, among all of the node; the rest as in `Receiver`."""

    def __init__(
        self,
        partitions_of: PartitionsOf,
        readers: Callable[[str], TopicReaders],
        start_groups: StartGroups,
        *,
        clock: Clock,
        latest_group: Callable[[Group], Group],
        admit: Callable[[ClaimingReceive, Group], None],
        dismiss: Callable[[ClaimingReceive], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._partitions_of = partitions_of
        self._readers = readers
        self._start_groups = start_groups
        self._clock = clock
        self._latest_group = latest_group
        self._admit = admit
        self._dismiss = dismiss
        self._is_stopping = is_stopping
        self._turn = 0

    async def receive(self, request: ReceiveRequest, group: Group) -> ReceiveResponse:
        """A claim that has been overtaken is passed over: its member hears of that from the group's coordinator. Raises
        ServerError as `Receiver.receive` does."""
        claims = {
            (each.topic_id, each.partition): OwnershipClaim(
                request.consumer, each.ownership, each.gone_since, each.left_since
            )
            for each in request.claims
        }
        topic_ids = list(dict.fromkeys(topic_id for topic_id, _ in claims))
        deadline_ms = self._clock.monotonic_ms() + request.wait_ms
        waiter = ClaimingReceive(group.id, claims)
        may_wait = request.wait_ms > 0 and not self._is_stopping()
        if may_wait:
            self._join(waiter, group)
        try:
            while True:
                group = self._latest_group(group)
                is_known_everywhere = self._is_stopping() or await self._start_groups(group, topic_ids)
                found = await self._collect(request, group, claims, waiter.take())
                left_ms = deadline_ms - self._clock.monotonic_ms()
                if found.messages or not may_wait or self._is_stopping() or left_ms <= 0:
                    reason = "" if found.messages else self._empty_reason(group, claims, found.verdicts)
                    return ReceiveResponse(found.messages, reason, found.overtaken)
                if not is_known_everywhere:
                    waiter.wake()  # a partition that came just now may not know the group yet
                await waiter.wait(left_ms)
        finally:
            if may_wait:
                self._leave(waiter)

    def _join(self, waiter: ClaimingReceive, group: Group) -> None:
        self._admit(waiter, group)
        for place in waiter.places:
            self._readers(place[0]).join_at(place, waiter)

    def _leave(self, waiter: ClaimingReceive) -> None:
        self._dismiss(waiter)
        for place in waiter.places:
            self._readers(place[0]).leave_at(place, waiter)

    async def _collect(
        self, request: ReceiveRequest, group: Group, claims: Mapping[Place, OwnershipClaim], places: Iterable[Place]
    ) -> _Found:
        """Of these partitions, the one that was served longest ago is first: so one with a deep backlog takes its turn
        and no more."""
        collected: list[DeliveredMessage] = []
        verdicts: list[ClaimVerdict] = []
        overtaken: list[Ownership] = []
        failure: ServerError | None = None
        bytes_left = request.max_bytes
        try:
            for place, partition in self._in_turn(group, places):
                wanted = request.max_messages - len(collected)
                if wanted <= 0 or (collected and bytes_left <= 0):
                    break
                try:
                    share, verdict, needed = await partition.groups.receive_owned(
                        request, group, claims[place], wanted, bytes_left, not collected
                    )
                except ServerError as error:
                    failure = error
                    continue
                verdicts.append(verdict)
                if verdict is ClaimVerdict.FENCED:
                    overtaken.append(Ownership(*place, needed))
                if share.messages:
                    self._turn += 1
                    partition.groups.serving_turns[group.id] = self._turn
                    bytes_left -= share.size_bytes
                    collected += share.messages
            if failure is not None and not collected:
                raise failure
            return _Found(collected, verdicts, overtaken)
        except BaseException:
            self._give_back(collected, group)
            raise

    def _in_turn(self, group: Group, places: Iterable[Place]) -> list[tuple[Place, Partition]]:
        found = [
            (place, partition)
            for place in places
            if (partition := self._partitions_of(place[0]).get(place[1])) is not None
            and not is_paused(group.pauses, *place)
        ]
        return sorted(found, key=lambda each: each[1].groups.serving_turns.get(group.id, 0))

    def _give_back(self, messages: list[DeliveredMessage], group: Group) -> None:
        """The caller is gone: nobody will ever see these leases."""
        for message in messages:
            partition = self._partitions_of(message.topic_id).get(message.partition)
            if partition is not None:
                partition.groups.release_delivered(group.id, message)

    def _empty_reason(self, group: Group, claims: Iterable[Place], verdicts: list[ClaimVerdict]) -> str:
        if self._is_stopping():
            return "SHUTTING_DOWN"
        if verdicts and all(verdict is ClaimVerdict.FENCED for verdict in verdicts):
            return FENCED
        return empty_reason_of(
            PAUSED if is_paused(group.pauses, topic_id, number) else partition.groups.empty_reason(group.id)
            for topic_id, number in claims
            if (partition := self._partitions_of(topic_id).get(number)) is not None
        )
