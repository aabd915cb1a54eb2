"""A topic that keeps messages until they are done, against a model that keeps one set of offsets for each group: what
some group has not done is there until it is too old, nothing else stays for long, and no group jumps without a reason
(rules R28, R32, R41, R42)."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.model.values import Group, RetentionMode, Topic
from tests.support.simulated_node import SimulatedNode, with_node

CAP_MS = 60_000
WINDOW_MS = 10_000
GROUPS = 3
PASS_MS = 1_100
"""Retention has looked by then."""
_numbers = st.integers(0, GROUPS - 1)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 4)),
        st.tuples(st.just("send named"), st.integers(1, 4)),
        st.tuples(st.just("take"), _numbers),
        st.tuples(st.just("take one"), _numbers),
        st.tuples(st.just("delete"), _numbers),
        st.tuples(st.just("wait"), st.sampled_from([1, 5, 20])),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=30,
)


class Model:
    """When each offset was appended, and what each group has done that reads the topic."""

    def __init__(self) -> None:
        self.appended_ms: list[int] = []
        self.done: dict[int, set[int]] = {}
        self.lost: Counter[int] = Counter()

    def done_by_all(self) -> set[int]:
        """Of the groups that read. Nobody has done anything where nobody reads."""
        return set.intersection(*self.done.values()) if self.done else set()


class Story:
    def __init__(self, sim: SimulatedNode, topic: Topic) -> None:
        self.sim = sim
        self.topic = topic
        self.model = Model()
        self.groups: dict[int, Group] = {}
        self.names = 0
        self.log_start = 0
        self.done_before: set[int] = set()

    async def play(self, steps: list[tuple[str, int]]) -> None:
        for what, number in steps:
            self.done_before = self.model.done_by_all()
            match what:
                case "send" | "send named":
                    await self.send(number, is_named=what == "send named")
                case "take" | "take one":
                    await self.take(number, 1 if what == "take one" else 1000)
                case "delete":
                    await self.delete(number)
                case "wait":
                    await self.sim.clock.sleep(number * 1000)
                case _:
                    await self.sim.stop()
                    await self.sim.start()
            await self.check()
        for number in list(self.groups):
            await self.take(number, 1000)
        await self.sim.clock.sleep(WINDOW_MS + 2 * PASS_MS)
        if self.model.done:
            assert (await self.sim.positions(self.topic)).size_bytes == 0, "all have done all"

    async def send(self, count: int, *, is_named: bool) -> None:
        for _ in range(count):
            self.names += 1
            keys = [f"name {self.names}"] if is_named else None
            sent = await self.sim.send(self.topic, b"x" * 200, keys=keys)
            assert sent.base_offset == len(self.model.appended_ms), "offsets never begin anew"
            self.model.appended_ms.append(sent.append_time_ms)

    async def take(self, number: int, count: int) -> None:
        if number not in self.groups:
            self.names += 1
            self.groups[number] = await self.sim.group(f"group-{self.names}")
        before = await self.sim.positions(self.topic)
        taken = (await self.sim.receive(self.topic, self.groups[number], max_messages=count)).messages
        if taken:
            await self.sim.settle("ack", self.topic, self.groups[number], taken)
        done = self.model.done.setdefault(number, set(range(before.log_start)))
        assert done.isdisjoint(each.offset for each in taken), "done is done"
        done.update(each.offset for each in taken)

    async def delete(self, number: int) -> None:
        group = self.groups.pop(number, None)
        self.model.done.pop(number, None)
        self.model.lost.pop(number, None)
        if group is not None:
            await self.sim.groups.delete(group.name)

    async def check(self) -> None:
        await self.sim.clock.sleep(2 * PASS_MS)
        position = await self.sim.positions(self.topic)
        now_ms = self.sim.clock.now_ms()
        removed = set(range(self.log_start, position.log_start))
        self.log_start = position.log_start
        young = {each for each in removed if now_ms - self.model.appended_ms[each] < CAP_MS}
        assert young <= self.done_before | self.model.done_by_all(), "somebody has yet to do it, and it is not too old"
        ids = {group.id: number for number, group in self.groups.items()}
        for each in position.groups:
            if each.group_id in ids:
                done = self.model.done[ids[each.group_id]]
                lost = set(range(position.log_start)) - done
                assert all(now_ms - self.model.appended_ms[offset] >= CAP_MS for offset in lost), "by age alone"
                done.update(lost)
                self.model.lost[ids[each.group_id]] += len(lost)
                assert each.lost == self.model.lost[ids[each.group_id]], "jumps are counted"


@given(_steps)
@settings(max_examples=60, deadline=None)
def test_what_is_not_done_is_kept_and_what_is_done_goes(steps: list[tuple[str, int]]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(
            retention=RetentionMode.UNTIL_ACKED,
            retention_ms=CAP_MS,
            segment_bytes=500,
            dedup_window_ms=WINDOW_MS,
        )
        await Story(sim, topic).play(steps)

    with_node(main)
