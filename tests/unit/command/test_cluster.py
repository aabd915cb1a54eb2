"""`acklog cluster`: what it shows and asks, in text and JSON, into pipes, with bad input. Nothing is served here."""

from collections.abc import Callable
from typing import Any

import pytest

from acklog.catalog import PartitionDescription, PartitionState, TopicConfig, TopicDescription
from acklog.cluster import (
    ClusterNode,
    ClusterStatus,
    MoveOrder,
    MovePlan,
    MoveProgress,
    PlannedMove,
    StuckPartition,
    TroubledPartition,
)
from acklog.command.exit_codes import ExitCode
from acklog.errors import InvalidField, TopicNotFound, Unavailable
from tests.support.command_run import CommandRun, run_command


def node(number: int, *, replicas: int = 4, **more: Any) -> ClusterNode:
    fields: dict[str, Any] = {"live": True, "draining": False, "leaving": False, "leaders": 1}
    return ClusterNode(
        node=number, address=f"n{number}:7000", rack="abc"[number - 1], replicas=replicas, **{**fields, **more}
    )


def status(*nodes: ClusterNode, **more: Any) -> ClusterStatus:
    fields: dict[str, Any] = {
        "embedded": False,
        "controller": 2,
        "store_reachable": True,
        "automatic_moves": True,
        "partitions": 6,
        "without_leader": 0,
        "below_min_insync": 0,
        "under_replicated": 0,
        "decommissioned": 0,
        "moving": 0,
        "orders_waiting": 0,
        "moves": [],
        "troubled": [],
        "complete": True,
    }
    return ClusterStatus(nodes=list(nodes) or [node(1), node(2), node(3)], **{**fields, **more})


CONFIG = TopicConfig("time", 1000, -1, 1 << 20, 1000, 2, 10_000)


def state(number: int, **more: Any) -> PartitionState:
    fields: dict[str, Any] = {
        "leader": 1,
        "leader_epoch": 3,
        "replicas": [1, 2],
        "in_sync_replicas": [1, 2],
        "log_start": 2,
        "high_watermark": 7,
        "size_bytes": 100,
    }
    return PartitionState(number, **{**fields, **more})


def topic(*states: PartitionState, decommissioned: tuple[int, ...] = ()) -> TopicDescription:
    return TopicDescription(
        name="orders",
        id="x",
        partitions=len(states),
        replication_factor=2,
        config=CONFIG,
        created_at_ms=0,
        decommissioned=list(decommissioned),
        partition_states=list(states),
    )


def partition(replicas: list[int], moving_to: list[int] | None = None) -> PartitionDescription:
    fields = {name: getattr(state(0), name) for name in PartitionState.__struct_fields__}
    places = {"replicas": replicas, "moving_to": moving_to}
    return PartitionDescription(**{**fields, **places}, topic="orders", groups=[])


class FakeClient:
    """Gives prepared answers, the last one again and again, and remembers what was asked."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {name: value if isinstance(value, list) else [value] for name, value in answers.items()}
        self.asked: list[tuple[str, Any]] = []
        self.cluster = self.topics = self

    def connect(self, *_: object) -> "FakeClient":
        return self

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def _answer(self, name: str, arguments: Any) -> Any:
        self.asked.append((name, arguments))
        waiting = self._answers.get(name, [None])
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *positional, **named: self._answer(name, (*positional, *named.values()))


def acklog(client: FakeClient, *arguments: str, **options: Any) -> CommandRun:
    surroundings = {"connect": client.connect, "pause": lambda duration_s: None, "now_ms": lambda: 10}
    return run_command("cluster", *arguments, surroundings=surroundings, **options)


NO_PLAN = MovePlan([], [], complete=True)
PLAN = MovePlan(
    [PlannedMove("orders", 3, "drain", [3, 1], [2, 1], "node 3 is drained")],
    [StuckPartition("orders", number) for number in range(12)],
    complete=True,
)


class TestStatus:
    def test_all_is_well(self) -> None:
        ran = acklog(FakeClient(status=status()), "status")
        assert (ran.exit_code, ran.stderr) == (0, "")
        assert ran.stdout.splitlines() == [
            "nodes       3 nodes",
            "controller  node 2",
            "store       reachable",
            "partitions  6",
            "moves       none",
            "health      every partition is led, and has all its replicas in sync",
            "NODE  RACK  ADDRESS  STATE  REPLICAS  LEADERS",
            "   1  a     n1:7000  live          4        1",
            "   2  b     n2:7000  live          4        1",
            "   3  c     n3:7000  live          4        1",
        ]

    def test_all_that_can_be_wrong(self) -> None:
        seen = status(
            node(1, live=False),
            node(2, draining=True),
            node(3, leaving=True),
            controller=None,
            store_reachable=False,
            automatic_moves=False,
            without_leader=1,
            below_min_insync=2,
            under_replicated=3,
            decommissioned=1,
            moving=1,
            orders_waiting=2,
            moves=[MoveProgress("orders", 1, [1, 2], [3, 2], [3])],
            troubled=[
                TroubledPartition("orders", 0, "withoutLeader", None, [1, 2], [1]),
                TroubledPartition("orders", 1, "madeLater", 2, [1, 2], [2]),
            ],
            complete=False,
        )
        lines = acklog(FakeClient(status=seen), "status").stdout.splitlines()
        for line in (
            "nodes                      3 nodes, 1 away",
            "controller                 none: no elections and no moves until there is one",
            "store                      away: nothing can change now",
            "moves                      paused, 1 under way, 2 asked for",
            "no leader                  1",
            "too few in sync for sends  2",
            "a replica away or behind   3",
            "decommissioned             1",
            "   1  a     n1:7000  away             4        1",
            "   2  b     n2:7000  draining         4        1",
            "   3  c     n3:7000  leaving          4        1",
            "orders          1  1,2   3,2  node 3 to be in sync",
            "orders          0  no leader          1,2       1",
            "orders          1  madeLater       2  1,2       2",
            "There is more of it: see --limit.",
        ):
            assert line in lines

    def test_who_can_take_sends_and_who_cannot_are_told_apart(self) -> None:
        """Two of three in sync, where two are enough, is no trouble of senders."""
        troubled = [
            TroubledPartition("orders", 0, "underReplicated", 1, [1, 2, 3], [1, 2]),
            TroubledPartition("orders", 1, "belowMinInsync", 1, [1, 2, 3], [1]),
        ]
        seen = status(below_min_insync=1, under_replicated=2, troubled=troubled)
        shown = acklog(FakeClient(status=seen), "status").stdout
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert "orders 0 a replica is away or behind 1 1,2,3 1,2" in lines
        assert "orders 1 sends are refused: too few in sync 1 1,2,3 1" in lines

    def test_drained_nodes(self) -> None:
        seen = status(
            node(1, draining=True, replicas=0),
            node(2, draining=True, replicas=0, live=False),
            node(3, draining=True, live=False),
        )
        lines = [" ".join(line.split()) for line in acklog(FakeClient(status=seen), "status").stdout.splitlines()]
        assert lines[-3:] == [
            "1 a n1:7000 drained 0 1",
            "2 b n2:7000 drained, away 0 1",
            "3 c n3:7000 away, to be drained 4 1",
        ]

    def test_a_server_on_one_machine(self) -> None:
        shown = acklog(FakeClient(status=status(node(1), embedded=True, controller=1)), "status").stdout
        assert "nodes       1 node, a server on one machine: there is nowhere to move anything" in shown
        assert "moves" not in shown

    def test_json(self) -> None:
        document = acklog(FakeClient(status=status(node(1))), "status", "--json").document
        assert document["nodes"][0]["address"] == "n1:7000"
        assert (document["storeReachable"], document["moves"]) == (True, [])

    def test_on_a_terminal(self) -> None:
        assert "\x1b[" in acklog(FakeClient(status=status()), "status", is_terminal=True).stdout
        plain = acklog(FakeClient(status=status()), "status", "--no-color", is_terminal=True)
        assert "n1:7000" in plain.stdout

    def test_watching(self) -> None:
        client = FakeClient(status=[status(), Unavailable("away", retriable=True), status(controller=3)])
        ran = acklog(client, "status", "--watch", "--max", "3", "--json")
        assert [line["controller"] for line in ran.lines] == [2, 3]
        assert ran.stderr == "away; looking again\n"

    def test_the_first_look_may_not_fail(self) -> None:
        ran = acklog(FakeClient(status=Unavailable("away", retriable=True)), "status", "--watch", "--max", "3")
        assert ran.exit_code == ExitCode.SERVER_AWAY

    def test_a_pipe_whose_reader_is_gone(self) -> None:
        ran = acklog(FakeClient(status=status()), "status", is_reader_gone=True)
        assert ran.exit_code == ExitCode.READER_GONE

    @pytest.mark.parametrize("options", [["--limit", "0"], ["--limit", "10001"], ["--interval", "0"], ["--max", "0"]])
    def test_bad_options(self, options: list[str]) -> None:
        assert acklog(FakeClient(), "status", *options).exit_code == ExitCode.USAGE


class TestPlan:
    def test_moves_and_what_is_stuck(self) -> None:
        client = FakeClient(plan=PLAN)
        ran = acklog(client, "plan", "--drain", "3", "--lost", "1", "--lost", "2", "--limit", "7")
        assert client.asked == [("plan", ([3], [1, 2], 7))]
        assert "orders          3  3,1   2,1  node 3 is drained" in ran.stdout
        assert "12 partitions cannot be moved away, for want of another node or of a leader: orders/0, " in ran.stdout
        assert "orders/9 and 2 more" in ran.stdout

    def test_nothing_to_do(self) -> None:
        ran = acklog(FakeClient(plan=NO_PLAN), "plan")
        assert (ran.stdout, ran.stderr) == ("", "Nothing would be moved.\n")
        assert acklog(FakeClient(plan=NO_PLAN), "plan", "--json").document == {
            "moves": [],
            "stuck": [],
            "complete": True,
        }

    def test_more_than_was_asked_for(self) -> None:
        cut = MovePlan(PLAN.moves, [], complete=False)
        assert "There are more than these 1: see --limit." in acklog(FakeClient(plan=cut), "plan").stdout

    def test_bad_input(self) -> None:
        assert acklog(FakeClient(), "plan", "--drain", "x").exit_code == ExitCode.USAGE
        refused = acklog(FakeClient(plan=InvalidField("there is no node 9", field="lost[0]")), "plan", "--lost", "9")
        assert (refused.exit_code, "there is no node 9 (lost[0])" in refused.stderr) == (ExitCode.USAGE, True)


class TestDrain:
    def test_it_is_asked_for(self) -> None:
        client = FakeClient(plan=NO_PLAN, drain=node(3, draining=True))
        ran = acklog(client, "drain", "3")
        assert ran.stderr == "Node 3 is being drained: 4 replicas to be moved.\n"
        assert "3  c     n3:7000  draining         4        1" in ran.stdout
        assert ("drain", (3,)) in client.asked
        assert acklog(client, "drain", "3", "--json").document["draining"]

    def test_a_dry_run_changes_nothing(self) -> None:
        client = FakeClient(plan=PLAN)
        document = acklog(client, "drain", "3", "--dry-run", "--json").document
        assert document["moves"][0] == {
            "topic": "orders",
            "partition": 3,
            "kind": "drain",
            "from": [3, 1],
            "to": [2, 1],
            "reason": "node 3 is drained",
        }
        assert [name for name, _ in client.asked] == ["plan"]

    def test_what_cannot_leave_is_asked_about(self, monkeypatch: pytest.MonkeyPatch) -> None:
        client = FakeClient(plan=PLAN, drain=node(3, draining=True))
        refused = acklog(client, "drain", "3")
        assert (refused.exit_code, "Give --yes." in refused.stderr) == (ExitCode.USAGE, True)
        monkeypatch.setattr("typer.confirm", lambda question, err: "Drain node 3 anyway?" not in question)
        declined = acklog(client, "drain", "3", is_terminal=True)
        assert "nothing was changed" in declined.stdout + declined.stderr
        assert [name for name, _ in client.asked] == ["plan", "plan"]
        assert acklog(client, "drain", "3", "--yes").exit_code == 0

    def test_watching_ends_when_the_node_is_empty(self) -> None:
        steps = [status(node(1), node(3, draining=True, replicas=count)) for count in (4, 1, 0)]
        client = FakeClient(plan=NO_PLAN, drain=node(3, draining=True), status=steps)
        ran = acklog(client, "drain", "3", "--watch", "--json")
        assert [line["nodes"][1]["replicas"] for line in ran.lines] == [4, 1, 0]
        assert ran.stderr.endswith("Node 3 holds nothing any more: it can be stopped for good.\n")

    def test_watching_may_end_before(self) -> None:
        client = FakeClient(plan=NO_PLAN, drain=node(3), status=status())
        assert "can be stopped" not in acklog(client, "drain", "3", "--watch", "--max", "2").stderr

    def test_the_only_node(self) -> None:
        error = InvalidField("no node but node 1 could take replicas now: start another one first", field="drain[0]")
        refused = acklog(FakeClient(plan=error), "drain", "1")
        assert refused.exit_code == ExitCode.USAGE
        assert "start another one first" in refused.stderr
        assert acklog(FakeClient(plan=error), "drain", "1", "--json").error["code"] == "INVALID_FIELD"

    @pytest.mark.parametrize("number", ["0", "x", "-1"])
    def test_what_is_no_node(self, number: str) -> None:
        assert acklog(FakeClient(), "drain", number).exit_code == ExitCode.USAGE

    def test_undrain(self) -> None:
        client = FakeClient()
        ran = acklog(client, "undrain", "3", "--json")
        assert (ran.document, client.asked) == ({"node": 3, "draining": False}, [("stop_draining", (3,))])
        assert acklog(client, "undrain", "3").stderr == "Node 3 may get replicas again.\n"


class TestReassign:
    def test_it_is_asked_for(self) -> None:
        client = FakeClient(reassign=MoveOrder("orders", 0, [2, 3]))
        ran = acklog(client, "reassign", "orders", "0", "2, 3")
        assert (ran.stdout, ran.stderr) == ("", "orders/0 is to be on the nodes 2,3.\n")
        assert client.asked == [("reassign", ("orders", 0, [2, 3]))]
        document = acklog(client, "reassign", "orders", "0", "2,3", "--json").document
        assert document == {"topic": "orders", "partition": 0, "replicas": [2, 3]}

    def test_a_dry_run(self) -> None:
        client = FakeClient(plan=PLAN)
        acklog(client, "reassign", "orders", "3", "2,1", "--dry-run")
        assert client.asked == [("plan", ([MoveOrder("orders", 3, [2, 1])],))]

    def test_watching(self) -> None:
        steps = [partition([1, 2]), partition([3, 2, 1], [3, 2]), partition([3, 2])]
        client = FakeClient(reassign=MoveOrder("orders", 0, [3, 2]), partition=steps)
        ran = acklog(client, "reassign", "orders", "0", "3,2", "--watch")
        assert "replicas   3,2,1\nin sync    1,2\nmoving to  3,2\n" in ran.stdout
        assert ran.stderr.endswith("orders/0 has moved.\n")

    @pytest.mark.parametrize(
        ("nodes", "says"),
        [("x", "is no list of numbers (NODES)"), ("1,", "Write it as 3 or 1,2,3."), ("1,1", "names a number twice")],
    )
    def test_bad_nodes(self, nodes: str, says: str) -> None:
        refused = acklog(FakeClient(), "reassign", "orders", "0", nodes)
        assert (refused.exit_code, says in refused.stderr) == (ExitCode.USAGE, True)

    def test_no_such_topic(self) -> None:
        error = TopicNotFound("there is no topic 'ordres'", field="topic", extra={"near": ["orders"]})
        refused = acklog(FakeClient(reassign=error), "reassign", "ordres", "0", "1")
        assert (refused.exit_code, "Did you mean: orders?" in refused.stderr) == (ExitCode.NOT_FOUND, True)

    def test_cancel(self) -> None:
        client = FakeClient()
        ran = acklog(client, "cancel", "orders", "2", "--json")
        assert ran.document == {"cancelled": {"topic": "orders", "partition": 2}}
        assert "acklog cluster pause" in ran.stderr
        assert client.asked == [("cancel", ("orders", 2))]


def test_pause_and_resume() -> None:
    client = FakeClient()
    paused, resumed = acklog(client, "pause", "--json"), acklog(client, "resume", "--json")
    assert (paused.document, resumed.document) == ({"automaticMoves": False}, {"automaticMoves": True})
    assert [name for name, _ in client.asked] == ["pause_moves", "resume_moves"]
    assert "acklog cluster resume" in paused.stderr


class TestDecommission:
    def test_a_dry_run(self) -> None:
        client = FakeClient(get=topic(state(0), state(1), state(2, log_start=7), state(3, log_start=None)))
        ran = acklog(client, "decommission", "orders", "1,2,3", "--dry-run")
        assert ran.stdout.splitlines() == [
            "PARTITION  MESSAGES  THEN",
            "        1         5  no new messages; gone when retention has freed them",
            "        2         0  no new messages; gone soon",
            "        3   unknown  no new messages; gone when retention has freed them",
            "1 partition of orders would go on, and take the keys of these.",
        ]
        document = acklog(client, "decommission", "orders", "1", "--dry-run", "--json").document
        assert document == {
            "topic": "orders",
            "partitions": [{"partition": 1, "messages": 5}],
            "left": [0, 2, 3],
        }
        assert {name for name, _ in client.asked} == {"get"}

    def test_it_is_confirmed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        client = FakeClient(get=topic(state(0), state(1)), decommission=topic(state(0), state(1), decommissioned=(1,)))
        refused = acklog(client, "decommission", "orders", "1")
        assert (refused.exit_code, "Give --yes." in refused.stderr) == (ExitCode.USAGE, True)
        done = acklog(client, "decommission", "orders", "1", "--yes", "--json")
        assert done.document["decommissioned"] == [1]
        assert done.stderr.startswith("Partition 1 of orders takes no new messages")
        questions: list[str] = []

        def agree(question: str, *, err: bool) -> bool:
            questions.append(question)
            return err

        monkeypatch.setattr("typer.confirm", agree)
        assert acklog(client, "decommission", "orders", "1", is_terminal=True).exit_code == 0
        assert questions == ["Let partition 1 of orders take no new messages, for good?"]

    def test_again(self) -> None:
        known = topic(state(0), state(1), decommissioned=(1,))
        client = FakeClient(get=known, decommission=known)
        assert acklog(client, "decommission", "orders", "1").exit_code == 0, "there is nothing to confirm"
        dry = acklog(client, "decommission", "orders", "1", "--dry-run")
        assert dry.stderr == "They are decommissioned already.\n"

    @pytest.mark.parametrize(
        ("numbers", "exit_code", "says"),
        [
            ("2", ExitCode.USAGE, "orders has the partitions 0 to 1, not 2"),
            ("0,1", ExitCode.FAILED, "one partition of orders at least must go on"),
            ("a", ExitCode.USAGE, "is no list of numbers (PARTITIONS)"),
        ],
    )
    def test_what_cannot_be(self, numbers: str, exit_code: ExitCode, says: str) -> None:
        refused = acklog(FakeClient(get=topic(state(0), state(1))), "decommission", "orders", numbers, "--yes")
        assert (refused.exit_code, says in refused.stderr) == (exit_code, True)


def test_topics_show_where_partitions_are() -> None:
    states = [
        state(0),
        state(1, in_sync_replicas=[1]),
        state(2, leader=None, log_start=None),
        state(3, moving_to=[3, 2]),
        state(4, life="gone", leader=None, replicas=[], in_sync_replicas=[], log_start=None),
    ]
    client = FakeClient(get=topic(*states, decommissioned=(4,)))
    shown = run_command("topics", "show", "orders", surroundings={"connect": client.connect, "now_ms": lambda: 10})
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    for line in (
        "replicas 2 of 2 have a message before it counts",
        "replica lag 10 s",
        "decommissioned 4",
        "PARTITION FROM TO MESSAGES SIZE LEADER REPLICAS IN SYNC REMARK",
        "0 2 7 5 100 B 1 1,2 1,2",
        "1 2 7 5 100 B 1 1,2 1",
        "2 none 1,2 1,2 no leader",
        "3 2 7 5 100 B 1 1,2 1,2 moves to 3,2",
        "4 gone",
    ):
        assert line in lines


def test_subcommands_of_another_distribution_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    run_command("cluster", "--help")
    assert "\n  up " in capsys.readouterr().out
    refused = run_command("cluster", "statsu")
    assert (refused.exit_code, "Did you mean: status" in refused.stderr) == (ExitCode.USAGE, True)
