"""`acklog cluster` against a real server: one node, which says so, and refuses what needs more."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

Acklog = Callable[..., CommandRun]
_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("cluster")
    settings = {"ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 << 22), "ACKLOG_NODE_RETENTION_INTERVAL_MS": "50"}
    with ServerProcess(directory / "data", directory / "log", environment=settings) as running:
        yield running


@pytest.fixture
def acklog(server: ServerProcess) -> Acklog:
    def run(*arguments: str, **options: object) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": server.base_url}, **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def topic(server: ServerProcess) -> str:
    """A topic of the test's own, with three partitions and a message in the last."""
    name = f"orders-{next(_numbers)}"
    server.request("PUT", f"/topics/{name}", {"partitions": 3})
    server.send(name, {"n": 1}, partition=2)
    return name


def test_one_node_and_it_says_so(acklog: Acklog, topic: str) -> None:
    shown = acklog("cluster", "status")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "1 node, a server on one machine: there is nowhere to move anything" in shown.stdout
    assert "controller  node 1" in shown.stdout
    document = acklog("cluster", "status", "--json").document
    assert (document["embedded"], document["controller"], document["storeReachable"]) == (True, 1, True)
    assert (document["withoutLeader"], document["underReplicated"], document["complete"]) == (0, 0, True)
    [node] = document["nodes"]
    assert (node["node"], node["live"], node["replicas"]) == (1, True, document["partitions"])
    watched = acklog("cluster", "status", "--watch", "--max", "2", "--interval", "0.2", "--json")
    assert len(watched.lines) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["drain", "1"],
        ["drain", "1", "--dry-run"],
        ["undrain", "1"],
        ["plan", "--drain", "1"],
        ["reassign", "orders", "0", "1"],
        ["cancel", "orders", "0"],
        ["pause"],
        ["resume"],
    ],
)
def test_there_is_nowhere_to_move_anything(acklog: Acklog, arguments: list[str]) -> None:
    refused = acklog("cluster", *arguments)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "this server is one node by itself, and there is nowhere to move replicas" in refused.stderr
    assert acklog("cluster", *arguments, "--json").error["code"] == "UNSUPPORTED"


def test_there_is_nothing_to_plan(acklog: Acklog, topic: str) -> None:
    assert acklog("cluster", "plan").stderr == "Nothing would be moved.\n"
    lost = acklog("cluster", "plan", "--lost", "1", "--json").document
    assert lost["moves"] == []
    assert {"topic": topic, "partition": 0} in lost["stuck"]


def test_decommissioning(acklog: Acklog, server: ServerProcess, topic: str) -> None:
    planned = acklog("cluster", "decommission", topic, "2", "--dry-run", "--json").document
    assert planned == {"topic": topic, "partitions": [{"partition": 2, "messages": 1}], "left": [0, 1]}
    done = acklog("cluster", "decommission", topic, "2", "--yes", "--json")
    assert done.document["decommissioned"] == [2]
    wait_until(
        lambda: server.request("GET", f"/topics/{topic}/partitions/2").document["life"] == "decommissioned",
        seconds=10,
        what="the partition is marked",
    )
    assert "decommissioned  2" in acklog("topics", "show", topic).stdout
    assert acklog("cluster", "decommission", topic, "0,1", "--yes").exit_code == 1
    [message] = server.receive(topic, "readers")
    assert message["partition"] == 2


def test_a_topic_with_replicas_needs_nodes(acklog: Acklog, topic: str) -> None:
    refused = acklog("topics", "create", f"{topic}-3", "--replicas", "3")
    assert (refused.exit_code, "there are 1 node(s) to hold replicas" in refused.stderr) == (2, True)
    refused = acklog("topics", "update", topic, "--min-in-sync", "2")
    assert (refused.exit_code, "the topic has 1 replica(s)" in refused.stderr) == (2, True)
    updated = acklog("topics", "update", topic, "--replicas", "1", "--max-replica-lag", "5s", "--json").document
    assert updated["config"]["maxReplicaLagMs"] == 5_000
    assert "--max-replica-lag" in acklog("topics", "update", topic, "--max-replica-lag", "soon").stderr


def test_a_server_that_is_away() -> None:
    ran = run_command("cluster", "status", environment={"ACKLOG_URL": "http://127.0.0.1:9"})
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert "Is the server running?" in ran.stderr


def test_without_a_reader(acklog: Acklog) -> None:
    assert acklog("cluster", "status", is_reader_gone=True).exit_code == 141
