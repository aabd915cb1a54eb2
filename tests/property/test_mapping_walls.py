"""Order over changes of a topic's partitions, against a model that knows by which mapping each message was stored.

Partitions say at their own pace where a mapping begins; keyed messages are taken as `MappingGate` takes them; a group
does whatever it may have, in any order. Whenever it is given a message, all of an earlier mapping in other partitions
are done; and when it has done what it was given, in the end it has done everything.
"""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster.errors import ServerError
from cluster.model.mapping_starts import started, starts_of_new_partition
from cluster.model.values import PartitionState, Topic
from storage.delivery.mapping_walls import passage_of
from storage.node.partition.mapping_gate import MappingGate


class Model:
    """`logs` hold for each message the mapping that put it there, `done` how many of the first are done."""

    def __init__(self, partitions: int) -> None:
        self.topic = Topic("t", "orders", partitions, 1, 0)
        self.states = [_state(self.topic, number) for number in range(partitions)]
        self.gates = [MappingGate(lambda: self.states) for _ in range(partitions)]
        self.logs: list[list[int]] = [[] for _ in range(partitions)]
        self.done = [0] * partitions

    def grow(self, more: int) -> None:
        mapping = self.topic.mapping + 1
        partitions = self.topic.partitions + more
        self.topic = replace(self.topic, partitions=partitions, mapping=mapping, ordered_mappings=mapping)
        while len(self.states) < partitions:
            self.states.append(_state(self.topic, len(self.states)))
            self.gates.append(MappingGate(lambda: self.states))
            self.logs.append([])
            self.done.append(0)

    def start(self, number: int) -> None:
        changed = started(self.states[number], self.topic.mapping, len(self.logs[number]))
        if self.topic.mapping and changed is not None:
            self.states[number] = changed

    def send(self, number: int, mapping: int) -> None:
        try:
            self.gates[number].check(mapping, self.topic)
        except ServerError:
            return
        assert all(max(log, default=0) <= mapping for log in self.logs), "nothing comes behind what came later"
        self.logs[number].append(mapping)

    def wall_in(self, number: int) -> int:
        passage = passage_of(self.topic.mapping, self.states, dict(enumerate(self.done)))
        return passage.wall_in(self.states[number])

    def work(self, number: int) -> bool:
        """Do the next message that may be had."""
        offset = self.done[number]
        if offset >= min(len(self.logs[number]), self.wall_in(number)):
            return False
        mapping = self.logs[number][offset]
        for other, log in enumerate(self.logs):
            if other != number:
                assert all(each >= mapping for each in log[self.done[other] :])
        self.done[number] += 1
        return True


def _state(topic: Topic, number: int) -> PartitionState:
    return PartitionState("t", number, (1,), (1,), 1, 1, 1, mapping_starts=starts_of_new_partition(topic))


STEPS = st.lists(
    st.tuples(st.sampled_from(["grow", "start", "send", "send", "send", "work", "work"]), st.integers(0, 11)),
    max_size=80,
)


@given(partitions=st.integers(1, 4), steps=STEPS)
def test_nothing_overtakes_what_was_stored_by_an_earlier_mapping(partitions: int, steps: list[tuple[str, int]]) -> None:
    model = Model(partitions)
    for step, number in steps:
        place = number % len(model.states)
        if step == "grow":
            if model.topic.mapping < 4:
                model.grow(number % 3)
        elif step == "start":
            model.start(place)
        elif step == "send":
            model.send(place, model.topic.mapping - number % 2)
        else:
            model.work(place)
    for number in range(len(model.states)):
        model.start(number)
    for number in range(len(model.states)):
        model.send(number, model.topic.mapping)
        assert model.logs[number], "a mapping that has begun everywhere is in force"
    while sum(map(model.work, range(len(model.states)))):
        continue
    assert model.done == [len(log) for log in model.logs]
