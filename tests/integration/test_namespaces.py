"""Two tenants of one server: the tour of docs/namespaces.md as it stands, and whole lives of messages in namespaces."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from acklog import Client
from acklog.command.exit_codes import ExitCode
from acklog.errors import Forbidden, NamespaceFull, NamespaceMismatch, NamespaceNotEmpty, NamespaceNotFound
from acklog.redrives import RedriveJob
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

ADMIN = "the-token-of-the-admin"
COMMANDS_SECONDS = 120
_TOUR = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that asks for tokens, and takes two requests to make what is named."""
    directory = tmp_path_factory.mktemp("tenants")
    tokens = directory / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "root", "token": ADMIN, "roles": ["admin"]}]}))
    with ServerProcess(directory / "data", directory / "server.log", options=("--tokens-file", str(tokens))) as server:
        yield server


def admin(server: ServerProcess) -> Client:
    return Client(server.base_url, token=ADMIN)


def tenant(server: ServerProcess, namespace: str, **limits: int) -> Client:
    """The client of a tenant whose namespace is new."""
    with admin(server) as client:
        client.namespaces.create(namespace, **limits)
        patterns = [f"{namespace}/*"]
        made = client.tokens.create(namespace, roles=["admin"], topics=patterns, groups=patterns)
    return Client(server.base_url, token=made.token)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the page uses curl and jq")
def test_the_tour(tenants: ServerProcess) -> None:
    page = (REPOSITORY / "docs/namespaces.md").read_text()
    commands = "".join(_TOUR.findall(page))
    assert commands.count("\n") > 10
    script = f'acklog() {{ "{sys.executable}" -m acklog.command "$@"; }}\nset -euo pipefail\n{commands}'
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(REPOSITORY),
        "ACKLOG_URL": tenants.base_url,
        "ACKLOG_TOKEN": ADMIN,
        "HOME": str(tenants.data_directory.parent),
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=COMMANDS_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '{"order": 4711}' in done.stdout
    last = json.loads(done.stdout.splitlines()[-1])
    assert [message["body"] for message in last["messages"]] == [1]


def test_the_life_of_a_message_in_a_namespace(tenants: ServerProcess) -> None:
    """It dies, and its letter stays in the namespace, comes back, and is done there."""
    with tenant(tenants, "life") as client:
        client.topics.create("life/orders", partitions=1)
        client.groups.create("life/billing", max_attempts=1, retry_delays_ms=[0])
        sent = client.send("life/orders", {"n": 1}, key="k")
        [message] = client.receive("life/orders", group="life/billing", wait_s=10).messages
        assert message.topic == "life/orders"
        client.nack(message.receipt, delay_s=0)
        wait_until(lambda: "life/orders.billing.dlq" in names_of(client), seconds=30, what="the topic of letters")
        [letter] = client.receive("life/orders.billing.dlq", group="life/triage", wait_s=20).messages
        assert (letter.headers or {})["acklog-dead-letter-topic"] == "life/orders"
        client.nack(letter.receipt, delay_s=0)
        job = client.redrives.start("life/triage", topic="life/orders.billing.dlq")
        again = client.receive("life/orders", group="life/billing", wait_s=20).messages
        assert [each.body for each in again] == [{"n": 1}], job
        client.ack([each.receipt for each in again])
        assert names_of(client) == ["life/orders", "life/orders.billing.dlq"]
        assert client.receive("life/orders").messages[0].message_id == sent.message_id  # the group life/default
        assert {each.name for each in client.groups.list()} == {"life/billing", "life/triage", "life/default"}
        assert client.ack_message_id(sent.message_id)
        with pytest.raises(Forbidden):
            client.metrics()
    with admin(tenants) as root:
        lines = dict(line.rsplit(" ", 1) for line in root.metrics().splitlines() if 'namespace="life"' in line)
    assert float(lines['acklog_namespace_log_bytes{namespace="life"}']) > 0
    assert float(lines['acklog_namespace_lag{namespace="life"}']) >= 0
    assert float(lines['acklog_namespace_messages_total{call="send",namespace="life"}']) == 1
    assert float(lines['acklog_namespace_requests_total{call="receive",namespace="life"}']) >= 4


def names_of(client: Client) -> list[str]:
    return [topic.name for topic in client.topics.list()]


def test_a_letter_that_says_it_came_from_elsewhere_stays(tenants: ServerProcess) -> None:
    """Who may send to both topics may write that; here somebody who may send everywhere."""
    with tenant(tenants, "forger") as forger, tenant(tenants, "victim") as victim, admin(tenants) as root:
        victim.topics.create("victim/orders", partitions=1)
        forger.topics.create("forger/orders.g.dlq", partitions=1)
        forger.groups.create("forger/g")
        claim = {"acklog-dead-letter-topic": "victim/orders"}
        with pytest.raises(Forbidden):
            forger.send("forger/orders.g.dlq", 1, headers=claim)
        root.send("forger/orders.g.dlq", 1, headers=claim)
        job = root.redrives.start("forger/g", topic="forger/orders.g.dlq")
        done = wait_until(lambda: _finished(root, "forger/g", job.job_id), seconds=30, what="the job's end")
        assert (done.moved, done.failed) == (0, 1)
        assert victim.receive("victim/orders").messages == []


def _finished(client: Client, group: str, job_id: str) -> RedriveJob | None:
    job = client.redrives.get(group, job_id)
    return job if job.state == "done" else None


def test_members_by_a_pattern_read_their_namespace(tenants: ServerProcess) -> None:
    with tenant(tenants, "left") as left, tenant(tenants, "right") as right, admin(tenants) as root:
        for client, name in ((left, "left/a"), (right, "right/a"), (root, "plain")):
            client.topics.create(name, partitions=1)
            client.send(name, name)
        left.groups.create("left/all", mode="exclusive")
        for client, pattern in ((left, "**"), (root, "right/*")):
            with (
                pytest.raises(NamespaceMismatch),
                client.consumer([], group="left/all", mode="exclusive", consumer="m", patterns=[pattern]) as consumer,
            ):
                next(iter(consumer))
        for client, pattern in ((left, "left/*"), (left, "*"), (root, "*")):
            with client.consumer(
                [], group="left/all", mode="exclusive", consumer="m", patterns=[pattern], auto_ack=False
            ) as consumer:
                message = next(iter(consumer))
                assert message.body == "left/a"
                members = root.groups.members("left/all").members
                assert {owned.topic for member in members for owned in member.assignment} == {"left/a"}
                message.nack(delay_s=0)


def test_limits_and_ends(tenants: ServerProcess) -> None:
    with tenant(tenants, "small", topics_max=1, groups_max=1) as client, admin(tenants) as root:
        client.topics.create("small/a", partitions=1)
        with pytest.raises(NamespaceFull):
            client.topics.create("small/b")
        client.groups.create("small/g")
        with pytest.raises(NamespaceFull):
            client.receive("small/a", group="small/h")
        with pytest.raises(Forbidden):
            client.namespaces.update("small", topics_max=9)
        assert [each.name for each in client.namespaces.list()] == ["small"]
        root.namespaces.update("small", topics_max=None)
        client.topics.create("small/b", partitions=1)
        with pytest.raises(NamespaceNotEmpty):
            root.namespaces.delete("small")
        for topic in ("small/a", "small/b"):
            client.topics.delete(topic)
        client.groups.delete("small/g")
        root.namespaces.delete("small")
        with pytest.raises(NamespaceNotFound):
            client.topics.create("small/a")


def test_the_command(tenants: ServerProcess) -> None:
    def acklog(*arguments: str) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": tenants.base_url, "ACKLOG_TOKEN": ADMIN})

    made = acklog("namespaces", "create", "cli", "--topics-max", "2", "--quota-messages", "500", "--json")
    assert (made.document["settings"]["topicsMax"], made.document["settings"]["messagesPerSecond"]) == (2, 500)
    assert acklog("namespaces", "create", "cli", "--topics-max", "3").exit_code == ExitCode.FAILED
    assert acklog("namespaces", "set", "cli").exit_code == ExitCode.USAGE
    assert acklog("namespaces", "set", "cli", "--topics-max", "-1").exit_code == ExitCode.USAGE
    changed = acklog("namespaces", "set", "cli", "--topics-max", "unlimited", "--groups-max", "0", "--json")
    assert (changed.document["settings"]["topicsMax"], changed.document["settings"]["groupsMax"]) == (None, 0)
    more = acklog("namespaces", "set", "cli", "--schedules-max", "1", "--producers-max", "2", "--json")
    assert (more.document["settings"]["schedulesMax"], more.document["settings"]["producersMax"]) == (1, 2)
    assert acklog("namespaces", "set", "cli", "--schedules-max", "many").exit_code == ExitCode.USAGE
    assert acklog("topics", "create", "cli/orders", "--partitions", "2").exit_code == ExitCode.DONE
    tick = ("schedule", "create", "cli/orders", "tick", "1", "--every", "3600")
    assert [acklog(*tick).exit_code for _ in range(2)] == [ExitCode.DONE] * 2
    assert acklog("schedule", "create", "cli/orders", "tock", "1", "--every", "3600").exit_code == ExitCode.FAILED
    shown = acklog("namespaces", "show", "cli").stdout
    assert "1 of 1" in shown
    assert "0 of 2" in shown
    assert "500 messages per second" in shown
    listed = acklog("namespaces", "list")
    assert re.search(r"cli\s+1\s+2\s+0 of 0\s+500 messages", listed.stdout)
    assert acklog("namespaces", "delete", "cli", "--yes").exit_code == ExitCode.FAILED
    assert acklog("topics", "delete", "cli/orders", "--yes").exit_code == ExitCode.DONE
    assert acklog("namespaces", "delete", "cli", "--yes").exit_code == ExitCode.DONE


def test_letters_wait_for_room_in_their_namespace(tenants: ServerProcess) -> None:
    with tenant(tenants, "full", topics_max=1) as client, admin(tenants) as root:
        client.topics.create("full/orders", partitions=1)
        client.groups.create("full/g", max_attempts=1)
        client.send("full/orders", 1)
        [message] = client.receive("full/orders", group="full/g", wait_s=10).messages
        client.nack(message.receipt, delay_s=0)
        state = wait_until(lambda: _state_of(client, message.message_id, "deadLettering"), seconds=30, what="the death")
        assert state
        assert names_of(client) == ["full/orders"]
        root.namespaces.update("full", topics_max=2)
        wait_until(lambda: _state_of(client, message.message_id, "deadLettered"), seconds=60, what="the letter")
        assert names_of(client) == ["full/orders", "full/orders.g.dlq"]
        environment = {"ACKLOG_URL": tenants.base_url, "ACKLOG_TOKEN": ADMIN}
        assert "full/orders.g.dlq" in run_command("dlq", "list", environment=environment).stdout
        retried = run_command("dlq", "retry", "full/orders.g.dlq", environment=environment)
        assert (retried.exit_code, "Sent 1 letter" in retried.stderr) == (ExitCode.DONE, True), retried.stderr
        assert [group.name for group in client.groups.list()] == ["full/acklog-dlq", "full/g"]
        waiting = run_command("dlq", "redrive", "full/orders.g.dlq", "--json", environment=environment)
        assert waiting.document["total"] == 0


def _state_of(client: Client, message_id: str, state: str) -> bool:
    return any(each.state == state for each in client.look(message_id).groups)
