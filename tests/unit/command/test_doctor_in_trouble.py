"""The doctor where nodes are away, where not all answer, and where it has no time left."""

from collections.abc import Callable
from typing import Any

import pytest

from acklog.catalog import PartitionProgress, PartitionState, TopicConfig, TopicDescription
from acklog.cluster import ClusterNode, ClusterStatus, TroubledPartition
from acklog.command.checkup import CheckOutcome
from acklog.errors import AcklogError, DeadlineExceeded, Forbidden, InvalidField, Unavailable
from acklog.positions import ProblemItem
from acklog.wire.limits import PARTITIONS_MAX
from tests.unit.command.test_doctor_checks import FakeServer, diagnose, group_of

FAIL, WARN, OK = CheckOutcome.FAIL, CheckOutcome.WARN, CheckOutcome.OK


def status(*live: bool, controller: int | None = 1, store: bool = True, **counts: Any) -> ClusterStatus:
    """Nodes with 8 replicas each."""
    nodes = [
        ClusterNode(number, "", "", is_live, False, False, 8, 4, protocol=1) for number, is_live in enumerate(live, 1)
    ]
    numbers = [counts.get(name, 0) for name in ("without_leader", "below_min_insync", "under_replicated")]
    troubled = counts.get("troubled", [])
    return ClusterStatus(False, controller, store, True, nodes, 24, *numbers, 0, 0, 0, [], troubled, True)


def trouble(kind: str, partition: int) -> TroubledPartition:
    return TroubledPartition("orders", partition, kind, 1, [1, 2, 3], [1])


def topic(name: str, *states: PartitionState) -> TopicDescription:
    settings = TopicConfig("time", -1, -1, 1, 1, 1, 1)
    found = list(states or [PartitionState(0, leader=1)])
    return TopicDescription(name, name, PARTITIONS_MAX, 3, settings, 1, partition_states=found)


def progress(**counts: int) -> PartitionProgress:
    return PartitionProgress("orders", 0, **{"lost": 0, "delayed": 0, "done_above": 0, "blocked": 0, **counts})


class TestCluster:
    def test_a_node_that_holds_replicas_and_is_not_there_is_named(self) -> None:
        seen = status(True, False, True, under_replicated=24, troubled=[trouble("underReplicated", 0)])
        found = diagnose(FakeServer(status=seen))
        assert (found["nodes"].outcome, found["nodes"].finding) == (
            WARN,
            "away, and holding replicas: node 2 (8 replicas)",
        )
        assert found["replicas"].outcome is WARN
        assert (
            found["replicas"].finding == "24 partitions with a replica that is away or behind; sends go on (orders 0)"
        )
        assert "acklog cluster status" in found["replicas"].advice

    def test_a_node_that_was_drained_is_not_missed(self) -> None:
        seen = status(True, True)
        seen.nodes.append(ClusterNode(3, "", "", False, True, False, 0, 0))
        assert diagnose(FakeServer(status=seen))["nodes"].outcome is OK

    def test_too_few_in_sync_for_sends_is_broken(self) -> None:
        troubled = [trouble("underReplicated", 0), trouble("belowMinInsync", 3)]
        seen = status(True, False, False, below_min_insync=1, under_replicated=24, troubled=troubled)
        found = diagnose(FakeServer(status=seen))["replicas"]
        assert found.outcome is FAIL
        assert found.finding == "1 partition with fewer replicas in sync than sends need: these are refused (orders 3)"

    def test_no_leader_is_the_worst(self) -> None:
        seen = status(True, without_leader=2, below_min_insync=3, under_replicated=3)
        found = diagnose(FakeServer(status=seen))["replicas"]
        assert (found.outcome, found.finding[:30]) == (FAIL, "2 partitions without a leader:")

    def test_nobody_who_decides(self) -> None:
        assert (
            "no node is the controller"
            in diagnose(FakeServer(status=status(True, controller=None)))["controller"].finding
        )
        away = diagnose(FakeServer(status=status(True, controller=None, store=False)))["controller"]
        assert (away.outcome, "the coordination store does not answer" in away.finding) == (WARN, True)
        assert "controller" not in diagnose(FakeServer(status=status(True)))


class TestAdvice:
    @pytest.mark.parametrize("code", ["TIMED_OUT", "UNAVAILABLE", "SHUTTING_DOWN", "NOT_ENOUGH_REPLICAS"])
    def test_what_passes_is_no_damage(self, code: str) -> None:
        state = PartitionState(0, problem=ProblemItem(code, "no", True))
        found = diagnose(FakeServer(topics=[topic("orders", state)]))["topics"]
        assert (found.outcome, found.finding) == (FAIL, f"cannot be served: orders 0 ({code})")
        assert "acklog cluster status" in found.advice
        assert "fsck" not in found.advice

    def test_damage_is_for_fsck(self) -> None:
        state = PartitionState(0, problem=ProblemItem("RECORDS_CORRUPT", "no", False))
        found = diagnose(FakeServer(topics=[topic("orders", state)]))["topics"]
        assert "acklog fsck DIRECTORY" in found.advice
        assert "cluster status" not in found.advice


class _Fails:
    """Raises for these names, and counts how often it was asked."""

    def __init__(self, answer: Callable[[str], Any], errors: dict[str, AcklogError]) -> None:
        self.answer = answer
        self.errors = errors
        self.asked: list[str] = []

    def __call__(self, name: str) -> Any:
        self.asked.append(name)
        if name in self.errors:
            raise self.errors[name]
        return self.answer(name)


class TestSilence:
    def test_who_does_not_answer_is_named_and_the_others_are_looked_at(self) -> None:
        topics = [topic("a"), topic("b"), topic("c")]
        asked = _Fails({each.name: each for each in topics}.__getitem__, {"b": DeadlineExceeded("no answer")})
        found = diagnose(FakeServer(topics=topics, topic=asked))
        assert found["topics"].finding == "2 topics with 2 partitions, all served"
        assert found["topics unknown"].outcome is FAIL
        assert found["topics unknown"].finding == "no answer within 5 s for b (DEADLINE_EXCEEDED)"
        assert found["schedules"].finding == "none late in 2 topics", "who is silent is not asked again"

    def test_two_who_are_silent_stand_for_the_rest(self) -> None:
        """Each costs its time."""
        topics = [topic(f"t{number}") for number in range(50)]
        asked = _Fails(lambda _: None, {each.name: Unavailable("away", retriable=True) for each in topics})
        found = diagnose(FakeServer(topics=topics, topic=asked))
        assert asked.asked == ["t0", "t1"]
        assert found["topics unknown"].finding.endswith("t0 (UNAVAILABLE), t1 (UNAVAILABLE); 48 topics not asked then")
        assert "topics" not in found

    def test_groups_whose_partitions_cannot_be_asked_are_named(self) -> None:
        rows = [
            progress(progress=1, lag=0),
            PartitionProgress("orders", 1, problem=ProblemItem("TIMED_OUT", "no", True)),
        ]
        found = diagnose(FakeServer(groups=[group_of("mail")], offsets=[rows]))
        assert found["groups unknown"].finding == "could not be asked: mail in orders (1 partition)"

    def test_what_another_try_would_not_change_ends_one_check(self) -> None:
        found = diagnose(FakeServer(topics=[topic("a")], topic=_Fails(lambda _: None, {"a": InvalidField("odd")})))
        assert (found["topics"].outcome, "could not be looked at" in found["topics"].finding) == (FAIL, True)
        assert found["groups"].outcome is OK

    def test_topics_that_cannot_be_listed_are_not_the_tokens_fault(self) -> None:
        assert "topics" in diagnose(FakeServer(topics=DeadlineExceeded("no answer")))
        assert "token" in diagnose(FakeServer(topics=Forbidden("no")))

    def test_what_there_is_no_time_for_is_said(self) -> None:
        found = diagnose(FakeServer(topics=[topic("a")]), is_over=lambda: True)
        assert found["groups"].finding == "not looked at: any, as the time for all questions, 45 s, was over"
        assert found["groups"].outcome is WARN
        looks = iter([False] * 3 + [True] * 99)
        found = diagnose(FakeServer(topics=[topic("a"), topic("b")]), is_over=lambda: next(looks))
        assert "not looked at: 2 topics of 2" in found["topics unknown"].finding


class TestLeasesThatLast:
    def test_one_long_lease_hides_nobody_who_stays_away(self) -> None:
        rows = [progress(progress=10, lag=50, in_flight=1)]
        found = diagnose(FakeServer(groups=[group_of("mail")], offsets=[rows, rows]))["groups"]
        assert found.outcome is WARN
        assert "in 1 s nobody took or finished any: mail in orders (49, beside 1 in flight)" in found.finding

    @pytest.mark.parametrize(
        "later", [{"progress": 11, "in_flight": 1}, {"progress": 10, "in_flight": 2}, {"progress": 10, "in_flight": 50}]
    )
    def test_who_takes_or_finishes_some_meanwhile_is_at_work(self, later: dict[str, int]) -> None:
        looks = [[progress(progress=10, lag=50, in_flight=1)], [progress(lag=50, **later)]]
        assert diagnose(FakeServer(groups=[group_of("mail")], offsets=looks))["groups"].outcome is OK
