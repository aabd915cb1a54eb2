"""Receives of one node: which of its partitions have something for a group, and who waits until one has."""

import asyncio
from collections.abc import Callable, Mapping

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.pauses import is_paused
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.modes import has_owners
from storage.node.consumer_limits import ConsumerLimits
from storage.node.consumers_seen import ConsumersSeen
from storage.node.exclusive_receiver import ExclusiveReceiver, PartitionsOf, StartGroups
from storage.node.groups.partition_groups import empty_reason_of
from storage.node.groups.waiting import TopicReaders, WaitingReceive
from storage.node.known_groups import group_not_found
from storage.node.matching_receiver import MatchingReceiver
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse
from storage.rpc.receive_attempt import ReceiveAttempt

TOO_MANY_WAITING_RETRY_MS = 1000
Failures = Callable[[], Mapping[tuple[str, int], ServerError]]


class Receiver:
    """`partitions_of(topic_id)` are those that the node leads now, `failures` say why others are not served;
    `start_groups` gives a group its start position in those that it has not read yet; False where more of them came
    meanwhile. `known_group` is the group as it is known now: who waits goes by that, and nothing is given of what is
    paused, or when the group was deleted."""

    def __init__(
        self,
        partitions_of: PartitionsOf,
        failures: Failures,
        start_groups: StartGroups,
        *,
        clock: Clock,
        known_group: Callable[[str], Group | None],
        waiting_max: int,
    ) -> None:
        self._partitions_of = partitions_of
        self._failures = failures
        self._start_groups = start_groups
        self._clock = clock
        self._known_group = known_group
        self._limits = ConsumerLimits(partitions_of)
        self._waiting_for: dict[WaitingReceive, Group] = {}
        self._waiting_max = waiting_max
        self._topics: dict[str, TopicReaders] = {}
        self._turn = 0
        self._is_stopping = False
        self.waiting = 0
        self.seen = ConsumersSeen()
        self._exclusive = ExclusiveReceiver(
            partitions_of,
            self.readers,
            start_groups,
            clock=clock,
            latest_group=self._latest_group,
            admit=self.admit,
            dismiss=self.dismiss,
            is_stopping=lambda: self._is_stopping,
        )

        self._matching = MatchingReceiver(
            partitions_of,
            self.readers,
            start_groups,
            clock=clock,
            limits=self._limits,
            latest_group=self._latest_group,
            admit=self.admit,
            dismiss=self.dismiss,
            give_back=self._give_back,
            empty_reason=self._empty_reason,
            is_stopping=lambda: self._is_stopping,
        )

    def readers(self, topic_id: str) -> TopicReaders:
        readers = self._topics.get(topic_id)
        if readers is None:
            readers = self._topics[topic_id] = TopicReaders()
        return readers

    async def receive(self, request: ReceiveRequest, group: Group) -> ReceiveResponse:
        """Raises ServerError: TOO_MANY_WAITING, what the partitions raise if none of them has messages, and why they
        are not served if none of them is; WRONG_GROUP_MODE where claims are missing, or mean nothing."""
        self._check_served(request.topic_ids)
        if has_owners(group.mode) is not bool(request.claims):
            raise ServerError(ProblemCode.WRONG_GROUP_MODE, f"The group is {group.mode.value!r}.", field="group")
        if request.claims:
            return await self._exclusive.receive(request, group)
        now_ms = self._clock.monotonic_ms()
        visibility_ms = group.settings.visibility_ms if request.visibility_ms is None else request.visibility_ms
        self.seen.saw(group.id, request.consumer, now_ms=now_ms, wait_ms=request.wait_ms, visibility_ms=visibility_ms)
        if request.filter:
            return await self._matching.receive(request, group)
        if request.attempt_id and not request.max_messages:
            return await self._repeated(request, group)
        deadline_ms = now_ms + request.wait_ms
        while True:
            is_known_everywhere = self._is_stopping or await self._start_groups(group, request.topic_ids)
            group = self._latest_group(group)
            waiter = self._join(request, group) if request.wait_ms and not self._is_stopping else None
            if waiter is not None and not is_known_everywhere:
                for topic_id in request.topic_ids:  # a partition that came just now may not know the group yet
                    self.readers(topic_id).wake_group(group.id)
            try:
                messages = await self._collect_within_limits(request, group)
                left_ms = deadline_ms - self._clock.monotonic_ms()
                if messages or waiter is None or self._is_stopping or left_ms <= 0:
                    reason = "" if messages else self._empty_reason(request, group)
                    return ReceiveResponse(messages, reason, attempt=self._attempt(request, group, messages))
                await waiter.wait(left_ms)
            finally:
                if waiter is not None:
                    self._leave(request, group, waiter)

    def stop(self) -> None:
        """Answer everybody who waits, now."""
        self._is_stopping = True
        self.wake_everybody()

    def wake_everybody(self) -> None:
        for readers in self._topics.values():
            readers.wake_everybody()

    def groups_changed(self) -> None:
        """Groups are not what they were: who waits for one that is set otherwise now, goes on, or was deleted, looks
        again."""
        changed: dict[str, None] = {}
        for waiter, seen in self._waiting_for.items():
            latest = self._known_group(seen.id)
            if latest is not seen and latest != seen:
                self._waiting_for[waiter] = latest or seen
                changed[seen.id] = None
        for group_id in changed:
            for readers in self._topics.values():
                readers.wake_group(group_id)

    def forget_topic(self, topic_id: str) -> None:
        readers = self._topics.pop(topic_id, None)
        if readers is not None:
            readers.wake_everybody()

    def forget_group(self, group_id: str) -> None:
        for readers in self._topics.values():
            readers.remove_group(group_id)

    def _latest_group(self, group: Group) -> Group:
        """Raises ServerError GROUP_NOT_FOUND for one that was deleted meanwhile: its receipts could not be settled, and
        another one that has its name gives the same messages to others."""
        latest = self._known_group(group.id)
        if latest is None:
            raise group_not_found()
        return latest

    def _check_served(self, topic_ids: list[str]) -> None:
        """That there is nothing would be taken for "nothing new" where all that there is cannot be served."""
        failures = self._failures()
        if failures and not any(self._partitions_of(topic_id) for topic_id in topic_ids):
            for (topic_id, _), error in failures.items():
                if topic_id in topic_ids and not error.is_retriable:
                    raise error

    def admit(self, waiter: WaitingReceive, group: Group) -> None:
        """Count one more who waits. Raises ServerError TOO_MANY_WAITING."""
        if self.waiting >= self._waiting_max:
            raise ServerError(
                ProblemCode.TOO_MANY_WAITING,
                f"{self.waiting} requests wait for messages already, the limit is {self._waiting_max}.",
                retry_after_ms=TOO_MANY_WAITING_RETRY_MS,
            )
        self.waiting += 1
        self._waiting_for[waiter] = group

    def dismiss(self, waiter: WaitingReceive) -> None:
        self.waiting -= 1
        del self._waiting_for[waiter]

    def _join(self, request: ReceiveRequest, group: Group) -> WaitingReceive:
        waiter = WaitingReceive()
        self.admit(waiter, group)
        is_held_back = self._limits.room(request, group) <= 0
        for topic_id in request.topic_ids:
            readers = self.readers(topic_id)
            if is_held_back:
                readers.hold_back(group.id, waiter, lambda: self._limits.room(request, group) > 0)
                continue
            readers.join(group.id, waiter, self._partitions_of(topic_id))
        return waiter

    def _leave(self, request: ReceiveRequest, group: Group, waiter: WaitingReceive) -> None:
        self.dismiss(waiter)
        for topic_id in request.topic_ids:
            self.readers(topic_id).leave(group.id, waiter)

    async def _collect_within_limits(self, request: ReceiveRequest, group: Group) -> list[DeliveredMessage]:
        if group.settings.max_in_flight_per_consumer is None:
            return await self._collect(request, group, request.max_messages)
        async with self._limits.turn(request, group) as room:
            return await self._collect(request, group, room)

    async def _collect(self, request: ReceiveRequest, group: Group, room: int) -> list[DeliveredMessage]:
        """Messages of the ready partitions, the longest ready first; who gave its share goes to the end. So does a
        topic that was asked: of several, the one that this group has not come to for longest is first, however much
        the others have."""
        collected: list[DeliveredMessage] = []
        failure: ServerError | None = None
        bytes_left = request.max_bytes
        self._turn += 1
        try:
            for topic_id in self._in_turn(request.topic_ids, group):
                partitions = self._partitions_of(topic_id)
                reader = self.readers(topic_id).reader(group.id)
                if not request.wait_ms:
                    reader.look_at(partitions)
                for number in list(reader.ready):
                    wanted = room - len(collected)
                    if wanted <= 0 or (collected and (bytes_left <= 0 or request.attempt_id)):
                        return collected
                    reader.turn = self._turn
                    # Taken off before the await: news that comes meanwhile puts it back.
                    reader.ready.pop(number, None)
                    partition = partitions.get(number)
                    if partition is None or is_paused(group.pauses, topic_id, number):
                        continue
                    try:
                        share = await partition.groups.receive(request, group, wanted, bytes_left, not collected)
                    except ServerError as error:
                        failure = error
                        reader.ready[number] = None  # behind what is damaged there may be more
                        continue
                    except asyncio.CancelledError:
                        reader.ready[number] = None  # it may not have been looked at
                        raise
                    if share.may_have_more:
                        reader.ready[number] = None
                    bytes_left -= share.size_bytes
                    collected += share.messages
            if failure is not None and not collected:
                raise failure
            return collected
        except BaseException:
            self._give_back(collected, group)
            raise

    async def _repeated(self, request: ReceiveRequest, group: Group) -> ReceiveResponse:
        """An id's messages are of one partition, whichever that is."""
        for topic_id in request.topic_ids:
            for number, partition in list(self._partitions_of(topic_id).items()):
                if not is_paused(group.pauses, topic_id, number):
                    given = await partition.groups.repeated.give(request, group)
                    if given.messages:
                        return given
        return ReceiveResponse([], self._empty_reason(request, group))

    def _attempt(
        self, request: ReceiveRequest, group: Group, messages: list[DeliveredMessage]
    ) -> ReceiveAttempt | None:
        if not request.attempt_id or not messages:
            return None
        partition = self._partitions_of(messages[0].topic_id).get(messages[0].partition)
        return None if partition is None else partition.groups.repeated.note(request, group, messages)

    def _in_turn(self, topic_ids: list[str], group: Group) -> list[str]:
        """By a count of each group and topic: with one for all, groups that take turns would begin where they did the
        last time, for ever."""
        if len(topic_ids) == 1:
            return topic_ids
        return sorted(topic_ids, key=lambda topic_id: self.readers(topic_id).reader(group.id).turn)

    def _give_back(self, messages: list[DeliveredMessage], group: Group) -> None:
        """The caller is gone: nobody will ever see these leases, so they return and no attempt counts."""
        for message in messages:
            partition = self._partitions_of(message.topic_id).get(message.partition)
            if partition is not None:
                partition.groups.release_delivered(group.id, message)

    def _empty_reason(self, request: ReceiveRequest, group: Group) -> str:
        if self._is_stopping:
            return "SHUTTING_DOWN"
        if self._limits.room(request, group) <= 0:
            return "IN_FLIGHT_LIMIT_PER_CONSUMER"
        return empty_reason_of(
            "PAUSED" if is_paused(group.pauses, topic_id, number) else partition.groups.empty_reason(group.id)
            for topic_id in request.topic_ids
            for number, partition in self._partitions_of(topic_id).items()
        )
