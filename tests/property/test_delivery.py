"""Any interleaving of what can happen to a group's delivery state, against a plain model (rules R22 to R26, R29)."""

from dataclasses import dataclass
from functools import partial

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from acklog.wire.problems import ProblemCode
from cluster.model.values import GroupSettings
from storage.delivery.backoff import chance_of, retry_delay_ms
from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_in_partition import GroupInPartition, GroupTerms
from storage.delivery.group_snapshot import CommittedPosition
from storage.delivery.leases import Lease
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import PositionCommitted, Sought, Started, decode_records, encode_records
from storage.delivery.states import TRANSITIONS, MessageEvent, MessageState
from tests.property.delivery_oracle import Message, Oracle

GROUP = "group00000000"
SETTINGS = GroupSettings(max_attempts=3, retry_backoff_min_ms=10, retry_backoff_max_ms=40, max_in_flight=6)
MESSAGES_MAX = 24


@dataclass
class Clocks:
    now_ms: int = 1000
    wall_ms: int = 50_000

    def visible_at(self, message: Message) -> int:
        left_ms = message.given_back_wall_ms + message.delay_ms - self.wall_ms
        return self.now_ms + min(max(left_ms, 0), message.delay_ms)


@dataclass
class Undecided:
    """A record on its way to the log, with what the model says that it means."""

    record: object
    offsets: list[int]
    meaning: object
    event: MessageEvent | None = None


class DeliveryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle()
        self.clocks = Clocks()
        self.log: list[bytes] = []
        self.undecided: list[Undecided] = []
        self.receipts: list[Lease] = [Lease(3, 1, 0, 0)]
        self.handed: list[int] = []
        self.log_start = 0
        self.snapshot: tuple[bytes, int] | None = None
        self.partition = self.new_partition()
        self.write(Started(GROUP, 0))
        self.oracle.append(8)

    # --- the world -------------------------------------------------------------------------------------------------

    def new_partition(self) -> PartitionDelivery:
        return PartitionDelivery(leader_epoch=self.oracle.leader_epoch, groups_max=10)

    @property
    def group(self) -> GroupInPartition:
        group = self.partition.group(GROUP)
        assert group is not None
        group.follow(GroupTerms(settings=SETTINGS))
        return group

    @property
    def pending(self) -> set[int]:
        """A seek voids what is on its way, so that it holds nothing back any more."""
        return {
            offset
            for each in self.undecided
            if each.offsets and each.record.generation == self.oracle.generation
            for offset in each.offsets
        }

    def replay(self, partition: PartitionDelivery, start: int) -> PartitionDelivery:
        for data in self.log[start:]:
            self.apply_to(partition, data)
        return partition

    def apply_to(self, partition: PartitionDelivery, data: bytes) -> None:
        partition.apply(decode_records(data), now_ms=self.clocks.now_ms, wall_now_ms=self.clocks.wall_ms)

    def write(self, record) -> None:
        self.log.append(encode_records([record]))
        self.apply_to(self.partition, self.log[-1])

    def states(self, offsets) -> dict[int, MessageState]:
        return {
            offset: MessageState(
                self.group.describe(offset, readable_end=self.oracle.readable_end, now_ms=self.clocks.now_ms).state
            )
            for offset in offsets
        }

    def check_transitions(self, before: dict[int, MessageState], event: MessageEvent | None) -> None:
        for offset, after in self.states(before).items():
            known = before[offset]
            if event is not None and known is not after:
                then = TRANSITIONS.get((known, event))
                assert after in (then, TRANSITIONS.get((then, MessageEvent.DUE))), f"{known} {event} {after}"

    # --- rules -----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.oracle.readable_end < MESSAGES_MAX)
    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.oracle.append(count)

    @rule(max_messages=st.integers(1, 8), visibility_ms=st.sampled_from([0, 5, 20]))
    def receive(self, max_messages: int, visibility_ms: int) -> None:
        oracle, now_ms = self.oracle, self.clocks.now_ms
        deliverable = oracle.deliverable(now_ms, self.pending)
        room = min(max_messages, SETTINGS.max_in_flight - len(oracle.leased))
        received = self.group.receive(
            CandidateIndex(runs_max=1),
            consumer="c",
            max_messages=max_messages,
            visibility_ms=visibility_ms,
            readable_end=oracle.readable_end,
            now_ms=now_ms,
        )
        assert (received.skipped, received.wanted) == (None, None)
        leases = received.leases
        assert len(leases) == max(min(room, len(deliverable)), 0)
        if not leases:
            self.check_reason()
        for lease in leases:
            message = oracle.messages[lease.offset]
            assert lease.offset in deliverable
            deliverable.remove(lease.offset)
            assert lease.attempt == message.attempts + 1 <= SETTINGS.max_attempts
            assert (lease.generation, lease.leader_epoch) == (oracle.generation, oracle.leader_epoch)
            message.lease_deadline_ms = now_ms + visibility_ms
            message.newest = (lease.leader_epoch, lease.attempt)
            message.was_delivered = True
            self.receipts.append(lease)
        del self.receipts[:-40]

    def check_reason(self) -> None:
        oracle, now_ms = self.oracle, self.clocks.now_ms
        reason = self.group.empty_reason(readable_end=oracle.readable_end, now_ms=now_ms)
        delayed = any(each.state(now_ms) == "delayed" for each in oracle.messages.values())
        if len(oracle.leased) >= SETTINGS.max_in_flight:
            assert reason == "IN_FLIGHT_LIMIT"
        elif oracle.leased:
            assert reason == "ALL_LEASED"
        else:
            assert reason == ("DELAYED" if delayed else "EMPTY")

    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        oracle = self.oracle
        items = self.some_receipts(data)
        settlement = self.group.ack(items, readable_end=oracle.readable_end)
        assert settlement.results == [oracle.judge_receipt(item, is_ack=True) for item in items]
        self.note_ack(items, settlement)

    @precondition(lambda self: self.oracle.readable_end)
    @rule(data=st.data())
    def ack_by_message_id(self, data: st.DataObject) -> None:
        oracle = self.oracle
        offset = data.draw(st.integers(0, oracle.readable_end))
        items = [Lease(offset, 0, 0, 0)]
        settlement = self.group.ack(items, readable_end=oracle.readable_end)
        if offset == oracle.readable_end:
            assert settlement.results == [ProblemCode.MESSAGE_NOT_FOUND]
            return
        message = oracle.messages[offset]
        known = message.is_done or message.lease_deadline_ms is not None or message.counted or message.newest
        if known:
            assert settlement.results == [None]
        elif not message.was_delivered and offset not in self.pending:
            assert settlement.results in ([None], [ProblemCode.NOT_DELIVERED])
            if offset >= max(each for each in [-1, *self.delivered_ever()]) + 1:
                assert settlement.results == [ProblemCode.NOT_DELIVERED]
        self.note_ack(items, settlement)

    def delivered_ever(self) -> list[int]:
        return [
            offset
            for offset, each in self.oracle.messages.items()
            if each.was_delivered or each.is_done or offset in self.pending
        ]

    def note_ack(self, items, settlement) -> None:
        accepted = [
            item.offset
            for item, result in zip(items, settlement.results, strict=True)
            if result is None and not self.oracle.messages[item.offset].is_done
        ]
        assert (settlement.record is None) == (not accepted)
        if accepted:
            generation = self.oracle.generation
            self.undecided.append(
                Undecided(
                    settlement.record,
                    accepted,
                    lambda: self.oracle.settle(accepted, generation, is_dead_letter=False),
                    MessageEvent.ACK,
                )
            )

    @rule(data=st.data(), delay_ms=st.sampled_from([None, 0, 15]), jitter=st.sampled_from([0.0, 0.5, 1.0]))
    def nack(self, data: st.DataObject, delay_ms: int | None, jitter: float) -> None:
        items = self.some_receipts(data)
        settlement = self.group.nack(
            items,
            delay_ms=delay_ms,
            jitter=jitter,
            readable_end=self.oracle.readable_end,
            wall_now_ms=self.clocks.wall_ms,
        )
        self.note_nack(items, settlement, delay_ms, jitter)

    def note_nack(self, items, settlement, delay_ms: int | None, jitter: float) -> None:
        oracle = self.oracle
        assert settlement.results == [oracle.judge_receipt(item, is_ack=False) for item in items]
        returned = {}
        decided = sorted(zip(items, settlement.results, strict=True), key=lambda each: each[0].offset)
        for item, result in decided:
            if result is None and oracle.messages[item.offset].state(0) != "deadLettering":
                chance = chance_of(len(returned), jitter)
                delay = retry_delay_ms(SETTINGS, attempts=item.attempt, chance=chance) if delay_ms is None else delay_ms
                is_last = item.attempt >= SETTINGS.max_attempts
                returned[item.offset] = ((item.leader_epoch, item.attempt), None if is_last else delay)
        self.note_returned(settlement.record, returned, None)

    def note_returned(self, record, returned, event: MessageEvent | None) -> None:
        assert (record is None) == (not returned)
        if returned:
            generation, wall_ms = self.oracle.generation, self.clocks.wall_ms
            self.undecided.append(
                Undecided(
                    record,
                    list(returned),
                    lambda: self.oracle.give_back(returned, generation, wall_ms, self.clocks),
                    event,
                )
            )

    @rule(data=st.data(), visibility_ms=st.sampled_from([0, 5, 50]))
    def extend(self, data: st.DataObject, visibility_ms: int) -> None:
        oracle, now_ms = self.oracle, self.clocks.now_ms
        items = self.some_receipts(data)
        in_flight = set(oracle.leased)
        expected: list[ProblemCode | None] = []
        for item in items:
            problem = oracle.judge_receipt(item, is_ack=False)
            if visibility_ms and problem is None:
                message = oracle.messages[item.offset]
                is_forgotten = message.lease_deadline_ms is None and item.leader_epoch != oracle.leader_epoch
                if message.state(now_ms) == "deadLettering" or (is_forgotten and message.attempts >= item.attempt):
                    problem = ProblemCode.RECEIPT_STALE
                elif item.offset in self.pending:
                    problem = ProblemCode.CONFLICT
                elif item.offset not in in_flight and len(in_flight) >= SETTINGS.max_in_flight:
                    problem = ProblemCode.OVERLOADED
                else:
                    in_flight.add(item.offset)
            expected.append(problem)
        settlement = self.group.extend(
            items,
            visibility_ms=visibility_ms,
            readable_end=oracle.readable_end,
            now_ms=now_ms,
            wall_now_ms=self.clocks.wall_ms,
        )
        if not visibility_ms:
            self.note_nack(items, settlement, 0, 0.0)
            return
        assert settlement.results == expected
        assert settlement.record is None
        for item, result in zip(items, settlement.results, strict=True):
            if result is None:
                message = oracle.messages[item.offset]
                message.lease_deadline_ms = now_ms + visibility_ms
                message.newest = (item.leader_epoch, item.attempt)
                message.was_delivered = True

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        items = self.some_receipts(data)
        self.group.release(items)
        for item in items:
            message = self.oracle.messages.get(item.offset)
            if message is None or message.lease_deadline_ms is None or item.offset in self.pending:
                continue
            if item.generation == self.oracle.generation and (item.leader_epoch, item.attempt) == message.newest:
                message.lease_deadline_ms = None
                message.visible_at_ms = 0

    @rule(limit=st.integers(1, 10))
    def expire(self, limit: int) -> None:
        now_ms = self.clocks.now_ms
        overdue = {
            offset: self.oracle.messages[offset]
            for offset in self.oracle.leased
            if self.oracle.messages[offset].lease_deadline_ms <= now_ms and offset not in self.pending
        }
        record = self.group.expire(now_ms=now_ms, wall_now_ms=self.clocks.wall_ms, limit=limit)
        offsets = [] if record is None else [item.offset for item in record.items]
        assert len(offsets) == min(limit, len(overdue))
        assert set(offsets) <= overdue.keys()
        returned = {}
        for offset in offsets:
            delivery = overdue[offset].newest
            returned[offset] = (delivery, None if delivery[1] >= SETTINGS.max_attempts else 0)
        self.note_returned(record, returned, None)

    @rule(limit=st.integers(1, 4))
    def hand_dead_letters(self, limit: int) -> None:
        letters = self.group.dead_letters(limit=limit, now_ms=self.clocks.now_ms)
        for letter in letters:
            message = self.oracle.messages[letter.offset]
            assert message.state(self.clocks.now_ms) == "deadLettering"
            assert letter.attempts == message.attempts >= SETTINGS.max_attempts
            assert letter.offset not in self.handed
            self.handed.append(letter.offset)

    @precondition(lambda self: self.handed)
    @rule(is_success=st.booleans())
    def finish_dead_letters(self, is_success: bool) -> None:
        offsets, self.handed = self.handed, []
        if not is_success:
            self.group.dead_letter_failed(offsets, retry_at_ms=self.clocks.now_ms + 5)
            return
        record = self.group.dead_lettered(offsets)
        generation = self.oracle.generation
        meant = [
            offset for offset in offsets if self.oracle.messages[offset].state(self.clocks.now_ms) == "deadLettering"
        ]
        self.undecided.append(
            Undecided(
                record,
                meant,
                lambda: self.oracle.settle(meant, generation, is_dead_letter=True),
                MessageEvent.DEAD_LETTER,
            )
        )

    @precondition(lambda self: self.oracle.readable_end)
    @rule(data=st.data())
    def seek(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(self.log_start, self.oracle.readable_end))
        record = self.group.seek(target)
        self.undecided.append(Undecided(record, [], lambda: self.oracle.seek(target, record.generation)))

    @rule(data=st.data(), is_told=st.booleans())
    def commit_position(self, data: st.DataObject, is_told: bool) -> None:
        """By a reader that keeps its own position, and knows where the group is or does not."""
        oracle, generation = self.oracle, self.oracle.generation
        target = data.draw(st.integers(self.log_start, oracle.readable_end))
        expected = data.draw(st.integers(0, oracle.readable_end)) if is_told else None
        decision = self.group.commit(CommittedPosition(target, 1, "mine"), expected=expected)
        is_repeated = target == oracle.progress and not (decision.problem or decision.records)
        assert is_repeated or decision.problem is self.commit_problem(target, expected)
        for record in decision.records:
            is_seek = isinstance(record, Sought)
            assert not is_seek or target < oracle.progress
            assert not is_seek or record.generation > generation
            meaning = partial(oracle.seek, target, record.generation) if is_seek else partial(oracle.commit, record)
            self.undecided.append(Undecided(record, [], meaning))

    def commit_problem(self, target: int, expected: int | None) -> ProblemCode | None:
        if expected is not None and any(isinstance(each.record, PositionCommitted) for each in self.undecided):
            return ProblemCode.CONFLICT
        if expected is None:
            return ProblemCode.COMMIT_CONFLICT if target < self.oracle.progress else None
        return None if expected == self.oracle.progress else ProblemCode.COMMIT_CONFLICT

    @rule(data=st.data())
    def retain(self, data: st.DataObject) -> None:
        self.log_start = data.draw(st.integers(self.log_start, min(self.log_start + 3, self.oracle.readable_end)))
        record = self.group.advance_log_start(self.log_start, deleted_below=0)
        if record is not None:
            assert record.to_offset == self.log_start > self.oracle.progress
            not_done = [offset for offset in range(self.log_start) if not self.oracle.messages[offset].is_done]
            assert record.lost == len(not_done)
            target = self.log_start
            self.undecided.append(Undecided(record, [], lambda: self.oracle.jump(target), MessageEvent.RETAIN))

    @precondition(lambda self: self.undecided)
    @rule(count=st.integers(1, 4))
    def commit(self, count: int) -> None:
        for each in self.undecided[:count]:
            before = self.states(each.offsets)
            leases_before = {offset for offset in each.offsets if offset in self.oracle.leased}
            self.undecided.remove(each)
            self.write(each.record)
            each.meaning()
            self.check_transitions(before, each.event)
            assert not leases_before & set(self.oracle.leased) or each.record.generation != self.oracle.generation
            if each.event is not MessageEvent.DEAD_LETTER:
                self.forget_handed()

    def forget_handed(self) -> None:
        """The group forgets what was handed over when it is settled otherwise."""
        self.handed = [
            offset
            for offset in self.handed
            if self.oracle.messages[offset].state(self.clocks.now_ms) == "deadLettering"
        ]

    @precondition(lambda self: self.undecided)
    @rule(count=st.integers(1, 4))
    def abort(self, count: int) -> None:
        failed, self.undecided = self.undecided[:count], self.undecided[count:]
        self.partition.abort([each.record for each in failed], now_ms=self.clocks.now_ms)
        for each in failed:
            for offset in each.offsets:
                if offset in self.handed:
                    self.handed.remove(offset)

    @rule(elapsed_ms=st.integers(1, 30))
    def pass_time(self, elapsed_ms: int) -> None:
        self.clocks.now_ms += elapsed_ms
        self.clocks.wall_ms += elapsed_ms

    @rule(jump_ms=st.integers(-60, 60))
    def jump_wall_clock(self, jump_ms: int) -> None:
        self.clocks.wall_ms += jump_ms

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot = (self.partition.snapshot(), len(self.log))

    @rule(written=st.integers(0, 6), is_snapshot_fresh=st.booleans())
    def crash(self, written: int, is_snapshot_fresh: bool) -> None:
        """The first of the records under way had reached the disk, the others had not."""
        if is_snapshot_fresh:
            self.take_snapshot()
        for each in self.undecided[:written]:
            self.write(each.record)
            each.meaning()
        self.undecided = []
        self.handed = []
        committed = self.partition.snapshot()
        self.oracle.restart(self.clocks)
        replayed = self.replay(self.new_partition(), 0)
        assert replayed.snapshot() == committed
        if self.snapshot is not None:
            data, start = self.snapshot
            restored = self.new_partition()
            restored.restore(data, now_ms=self.clocks.now_ms, wall_now_ms=self.clocks.wall_ms)
            replayed = self.replay(restored, start)
            assert replayed.snapshot() == committed
        self.partition = replayed

    def some_receipts(self, data: st.DataObject) -> list[Lease]:
        forged = st.builds(
            Lease, st.integers(0, MESSAGES_MAX + 2), st.integers(1, 4), st.integers(0, 3), st.integers(0, 4)
        )
        known = st.sampled_from(self.receipts[-20:])
        valid = [each for each in self.receipts if self.oracle.judge_receipt(each, is_ack=False) is None]
        likely = st.sampled_from(valid) if valid else known
        return data.draw(st.lists(st.one_of(likely, likely, likely, likely, known, forged), min_size=1, max_size=4))

    # --- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def state_is_consistent(self) -> None:
        self.partition.check_invariants()

    @invariant()
    def state_is_the_models(self) -> None:
        oracle, now_ms = self.oracle, self.clocks.now_ms
        assert self.group.progress == oracle.progress
        assert self.group.generation == oracle.generation
        assert self.group.in_flight_count == len(oracle.leased)
        done_above = [offset for offset, each in oracle.messages.items() if each.is_done and offset > oracle.progress]
        assert self.group.done_above_count == len(done_above)
        for offset, message in oracle.messages.items():
            found = self.group.describe(offset, readable_end=oracle.readable_end, now_ms=now_ms)
            assert found.state == message.state(now_ms), f"offset {offset}"
            if found.state == "leased":
                assert found.until_ms == max(message.lease_deadline_ms - now_ms, 0)
            elif found.state == "delayed":
                assert found.until_ms == message.visible_at_ms - now_ms

    @invariant()
    def whatever_happens_by_itself_has_a_deadline(self) -> None:
        times = [
            each.lease_deadline_ms
            for offset, each in self.oracle.messages.items()
            if each.lease_deadline_ms is not None and offset not in self.pending
        ]
        times += [
            each.visible_at_ms
            for offset, each in self.oracle.messages.items()
            if each.state(self.clocks.now_ms) == "delayed"
        ]
        deadline_ms = self.group.next_deadline()
        for offset, each in self.oracle.messages.items():
            if each.state(self.clocks.now_ms) == "deadLettering" and offset not in {*self.pending, *self.handed}:
                assert deadline_ms is not None, "nobody will take this to the dead-letter topic"
        if times:
            assert deadline_ms is not None
            assert deadline_ms <= min(times)


TestDelivery = DeliveryMachine.TestCase
TestDelivery.settings = settings(
    max_examples=150,
    stateful_step_count=70,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
