"""The coordinator of exclusive groups against what must hold whatever happens: members come, go, fall silent and change
their minds, topics come and grow, the coordinator is replaced, and the log is written anew."""

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Assignor
from storage.groups.exclusive_group import FORGOTTEN
from storage.groups.member import SubscribedTopics
from storage.groups.records import Assigned
from storage.rpc.membership_messages import LEAVE, STEP_OUT, HeartbeatResponse
from tests.support.coordinated import GROUP, SESSION_MS, Coordinated

NAMES = ["one", "two", "three", "four", "five"]
TOPICS = ["a", "b1", "b2"]

members = st.sampled_from(NAMES)
subscriptions = st.sampled_from([(["a"], []), (["a", "b1"], []), ([], ["b*"]), (["a"], ["b*"])])


class Coordinating(RuleBasedStateMachine):
    """`told` is what each member was told last, and `processes` which instance of it; `given` has every ownership that
    anybody was ever told of. `telling` are heartbeats that are to end when a topic is deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Coordinated()
        self.counts = {"a": 4}
        self.told: dict[str, HeartbeatResponse] = {}
        self.processes: dict[str, str] = {}
        self.given: dict[tuple[str, int, int], tuple[str, str]] = {}
        self.waiting: dict[int, str] = {}
        self.telling: set[int] = set()
        self.epoch = 0

    @initialize()
    def topics(self) -> None:
        self.world.set_topics(**self.counts)

    # --- what happens ----------------------------------------------------------------------------------------------

    @rule(
        member=members,
        subscription=subscriptions,
        is_static=st.booleans(),
        instance=st.sampled_from(["", "x", "y"]),
        topics_must_exist=st.booleans(),
    )
    def join(
        self,
        member: str,
        subscription: tuple[list[str], list[str]],
        is_static: bool,
        instance: str,
        topics_must_exist: bool,
    ) -> None:
        topics, patterns = subscription
        before, owners = self.subscription_of(member), self.owners()
        token = self.world.beat(
            member,
            topics=topics,
            patterns=patterns,
            is_static=is_static,
            instance_id=instance,
            topics_must_exist=topics_must_exist,
        )
        assert is_there(self.world.answers[token]) or (topics_must_exist and not self.counts.keys() >= set(topics))
        if isinstance(self.world.answers[token], HeartbeatResponse):
            self.processes[member] = instance
        if before is not None and before == self.subscription_of(member):
            assert self.owners() == owners, "a partition moved because another process has a name"
        self.hear(member, token)

    @rule(
        member=members,
        age=st.integers(0, 2),
        wait_ms=st.sampled_from([0, 3_000, 40_000]),
        topics_must_exist=st.booleans(),
    )
    def beat(self, member: str, age: int, wait_ms: int, topics_must_exist: bool) -> None:
        told = self.told.get(member)
        if told is None:
            return
        epoch = max(1, told.member_epoch - age)
        token = self.world.beat(
            member, epoch, topics=[], known_epoch=epoch, wait_ms=wait_ms, topics_must_exist=topics_must_exist
        )
        if token in self.world.answers:
            self.hear(member, token)
            return
        self.waiting[token] = member
        if topics_must_exist:
            self.telling.add(token)

    @rule(member=members, epoch=st.sampled_from([LEAVE, STEP_OUT]))
    def leave(self, member: str, epoch: int) -> None:
        self.world.beat(member, epoch)

    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        if self.waiting:
            token = data.draw(st.sampled_from(sorted(self.waiting)))
            del self.waiting[token]
            self.world.give_up(token)

    @rule(duration_ms=st.sampled_from([1, 2_999, SESSION_MS // 2, SESSION_MS, 3 * SESSION_MS]))
    def pass_time(self, duration_ms: int) -> None:
        self.world.pass_time(duration_ms)

    @rule(topic=st.sampled_from(TOPICS), more=st.integers(-9, 3))
    def change_topic(self, topic: str, more: int) -> None:
        count = self.counts.get(topic, 0) + more
        if count <= 0:
            self.counts.pop(topic, None)
        else:
            self.counts[topic] = max(count, self.counts.get(topic, 0))
        self.world.set_topics(**self.counts)

    @rule(assignor=st.sampled_from(Assignor))
    def assign_otherwise(self, assignor: Assignor) -> None:
        self.world.set_assignor(assignor)

    @rule()
    def replace_coordinator(self) -> None:
        self.waiting.clear()
        owners = self.owners()
        self.world.replace()
        log = len(self.world.log)
        self.world.decide()
        assert self.owners() == owners
        moved = [each for record in self.world.log[log:] if isinstance(record, Assigned) for each in record.owned]
        # Of a deleted topic that nobody subscribed to any more, it is forgotten now who had it.
        assert all(each.gone_since == FORGOTTEN for each in moved), "a partition moved for nothing"

    @rule()
    def write_anew(self) -> None:
        self.world.log += self.world.coordinator.written()

    # --- what must hold --------------------------------------------------------------------------------------------

    def hear(self, member: str, token: int) -> None:
        answer = self.world.answers[token]
        if isinstance(answer, ServerError):
            return
        before = self.told.get(member)
        if before is not None and answer.member_epoch == before.member_epoch:
            assert answer.assigned == before.assigned, "another assignment under the same epoch"
        self.told[member] = answer
        for each in answer.assigned:
            place = (each.topic_id, each.partition, each.ownership)
            process = (member, self.processes[member])
            assert self.given.setdefault(place, process) == process, "two owners of one ownership"

    def subscription_of(self, member: str) -> SubscribedTopics | None:
        group = self.world.coordinator.groups.get(GROUP)
        found = None if group is None else group.members.get(member)
        return None if found is None else found.subscription

    def owners(self) -> dict[tuple[str, int], str]:
        return self.world.owners() if GROUP in self.world.coordinator.groups else {}

    @invariant()
    def who_waited_hears_the_truth(self) -> None:
        for token, member in list(self.waiting.items()):
            if token in self.world.answers:
                del self.waiting[token]
                self.hear(member, token)

    @invariant()
    def nobody_waits_for_a_topic_that_is_no_more(self) -> None:
        # Who has an answer, as members have that leave, does not wait any more, whether it has looked at it or not.
        for token in (self.telling & self.waiting.keys()) - self.world.answers.keys():
            subscription = self.subscription_of(self.waiting[token])
            assert subscription is not None
            assert self.counts.keys() >= set(subscription.topic_ids)

    @invariant()
    def epochs_never_fall(self) -> None:
        group = self.world.coordinator.groups.get(GROUP)
        epoch = 0 if group is None else group.epoch
        assert epoch >= self.epoch
        self.epoch = epoch

    @invariant()
    def everything_that_somebody_wants_has_one_owner(self) -> None:
        group = self.world.coordinator.groups.get(GROUP)
        wanted: set[tuple[str, int]] = set()
        for member in () if group is None else group.members.values():
            for topic, count in self.counts.items():
                if topic in member.subscription.topic_ids or (member.subscription.patterns and topic.startswith("b")):
                    wanted.update((topic, number) for number in range(count))
        assert set(self.owners()) == wanted

    @invariant()
    def who_wants_the_same_has_the_same_within_one(self) -> None:
        group = self.world.coordinator.groups.get(GROUP)
        members = [] if group is None else list(group.members.values())
        if len({member.subscription for member in members}) == 1:
            counts = [len(member.places) for member in members]
            assert max(counts) - min(counts) <= 1

    @invariant()
    def the_log_has_everything(self) -> None:
        replayed = self.world.replayed()
        assert sorted(map(_sorted, replayed.written())) == sorted(map(_sorted, self.world.coordinator.written()))


def is_there(answer: HeartbeatResponse | ServerError) -> bool:
    return not isinstance(answer, ServerError) or answer.code is not ProblemCode.TOPIC_NOT_FOUND


def _sorted(written: object) -> str:
    """Members and owners in any order."""
    found = msgspec.to_builtins(written)
    return repr([found[:3], sorted(map(repr, found[3])), sorted(map(repr, found[4]))])


TestCoordinating = Coordinating.TestCase
TestCoordinating.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
