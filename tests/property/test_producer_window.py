"""Two nodes, a log each, one leader at a time, and gateways that lose answers: no batch gets into a log twice.

Rules R19 and R21.

The gateways keep to their side: a sequence is new for each batch, and nothing is sent again later than
PRODUCE_RETRIES_MS after its first try.
"""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from acklog.wire.limits import PRODUCE_RETRIES_MS
from storage.produce.producer_window import BatchStanding, Known, ProducerWindow, ProducerWindowSettings

SETTINGS = ProducerWindowSettings(window_ms=PRODUCE_RETRIES_MS + 5_000, entries_per_producer_max=4, producers_max=3)
SKEW_MAX_MS = 2_000
Batch = tuple[int, int]
"""Producer and sequence."""


@dataclass
class Node:
    """`log` has one batch per offset: the batch, its epoch and when it was appended by the writer's clock."""

    skew_ms: int
    window: ProducerWindow = field(default_factory=lambda: ProducerWindow(SETTINGS))
    log: list[tuple[Batch, int, int]] = field(default_factory=list)
    in_flight: list[Batch] = field(default_factory=list)
    has_forgotten: bool = False
    has_gaps: bool = False
    """Whole producers may have been forgotten."""


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.epoch = 1
        self.nodes = [Node(0), Node(SKEW_MAX_MS)]
        self.sent: dict[Batch, int] = {}
        self.sequence = 0
        self.producers = 1

    @initialize(producers=st.sampled_from([1, 3, 5]))
    def begin(self, producers: int) -> None:
        self.producers = producers

    @property
    def leader(self) -> Node:
        return self.nodes[self.epoch % 2]

    @property
    def follower(self) -> Node:
        return self.nodes[(self.epoch + 1) % 2]

    # --- gateways ---

    @rule(producer=st.integers(1, 5), count=st.integers(1, 4))
    def send(self, producer: int, count: int) -> None:
        for _ in range(count):
            self._arrive(self._new_batch(producer, 2), is_retry=False)
            self.append(True)

    @rule(producer=st.integers(1, 5))
    def send_slowly(self, producer: int) -> None:
        self._arrive(self._new_batch(producer, 1), is_retry=False)

    @rule(producer=st.integers(1, 5))
    def send_into_the_void(self, producer: int) -> None:
        """The first try never arrives, so what arrives is a retry."""
        self._new_batch(producer, 1)

    def _new_batch(self, producer: int, gap: int) -> Batch:
        self.sequence += gap
        batch = (producer % self.producers, self.sequence)
        self.sent[batch] = self.now_ms
        return batch

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), is_retry=st.sampled_from([True, True, False]))
    def arrive_again(self, data: st.DataObject, is_retry: bool) -> None:
        """A retry, or a first try that was held up on its way and that its own retries may have overtaken. (Not one
        from before a restart: its connection is gone. Nor one of more producers than the window can hold.)"""
        batch = data.draw(st.sampled_from(sorted(self.sent, key=lambda each: each[1])))
        if self.sent[batch] + PRODUCE_RETRIES_MS > self.now_ms and (is_retry or not self.leader.has_gaps):
            self._arrive(batch, is_retry=is_retry)

    def _arrive(self, batch: Batch, *, is_retry: bool) -> None:
        node = self.leader
        places = [offset for offset, (each, _, _) in enumerate(node.log) if each == batch]
        found = node.window.check(*batch, is_retry=is_retry, now_ms=self.now_ms)
        if batch in node.in_flight:
            assert found is BatchStanding.IN_FLIGHT
        elif isinstance(found, Known):
            [offset] = places
            assert found == Known(offset, *node.log[offset][1:])
        elif found is BatchStanding.ABSENT:
            assert not places, "it would get into the log twice"
            node.window.begin(*batch, now_ms=self.now_ms)
            node.in_flight.append(batch)
        else:
            assert found is BatchStanding.TOO_OLD
            assert node.has_forgotten, "nothing was forgotten, so everything can be told"

    # --- the leader's log ---

    @precondition(lambda self: self.leader.in_flight)
    @rule(is_stored=st.booleans())
    def append(self, is_stored: bool) -> None:
        node = self.leader
        batch = node.in_flight.pop(0)
        if not is_stored:
            node.window.abort(*batch)
            return
        wall_ms = self.now_ms + node.skew_ms
        node.window.commit(
            *batch,
            base_offset=len(node.log),
            leader_epoch=self.epoch,
            append_time_ms=wall_ms,
            now_ms=self.now_ms,
        )
        node.log.append((batch, self.epoch, wall_ms))

    @rule(count=st.integers(1, 9))
    def replicate(self, count: int) -> None:
        """The follower cuts what the leader has not, then takes some of what it has."""
        leader, follower = self.leader, self.follower
        same = 0
        while same < min(len(leader.log), len(follower.log)) and leader.log[same] == follower.log[same]:
            same += 1
        follower.window.truncate_to(same)
        del follower.log[same:]
        for entry in leader.log[same : same + count]:
            self._note(follower, len(follower.log), entry)
            follower.log.append(entry)

    @rule(count=st.integers(0, 9))
    def elect_the_other(self, count: int) -> None:
        """Not always one that has everything: what it lacks is lost, and may come again."""
        leader = self.leader
        for batch in leader.in_flight:
            leader.window.abort(*batch)
        leader.in_flight.clear()
        self.epoch += 1
        self.replicate(count)

    # --- disturbances ---

    @rule(number=st.integers(0, 1))
    def restart(self, number: int) -> None:
        """The window is made from the log."""
        node = self.nodes[number]
        node.window = ProducerWindow(SETTINGS)
        node.in_flight.clear()
        for offset, entry in enumerate(node.log):
            self._note(node, offset, entry)

    @rule(number=st.integers(0, 1))
    def restart_without_reading(self, number: int) -> None:
        node = self.nodes[number]
        node.window = ProducerWindow(SETTINGS)
        node.window.forget_all(now_ms=self.now_ms)
        node.in_flight.clear()
        node.has_forgotten = node.has_gaps = True

    @rule(elapsed_ms=st.sampled_from([1, 500, 20_000, 59_000]))
    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms

    def _note(self, node: Node, offset: int, entry: tuple[Batch, int, int]) -> None:
        batch, epoch, append_time_ms = entry
        age_ms = self.now_ms + node.skew_ms - append_time_ms
        node.window.note(
            *batch,
            base_offset=offset,
            leader_epoch=epoch,
            append_time_ms=append_time_ms,
            age_ms=age_ms,
            now_ms=self.now_ms,
        )

    # --- always ---

    @invariant()
    def windows_are_bounded_and_logs_hold_nothing_twice(self) -> None:
        for node in self.nodes:
            node.window.check_invariants()
            batches = [batch for batch, _, _ in node.log]
            assert len(batches) == len(set(batches))
            # The bounds of memory make it forget, and it may do so only beyond them.
            per_producer = [sum(each == producer for each, _ in batches) for producer in range(self.producers)]
            if len({producer for producer, _ in self.sent}) > SETTINGS.producers_max:
                node.has_forgotten = node.has_gaps = True
            if max(per_producer) > SETTINGS.entries_per_producer_max:
                node.has_forgotten = True


TestProducerWindow = Machine.TestCase
TestProducerWindow.settings = settings(
    max_examples=200, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
