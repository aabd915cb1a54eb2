"""`acklog node`, `acklog gateway` and `acklog cluster up` as they are run: started, used, killed, stopped."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.local_cluster.cluster_process import Kind, Life
from app.local_cluster.local_cluster import LocalCluster, LocalClusterOptions
from app.local_cluster.server_process import free_ports
from tests.support.server_process import REPOSITORY
from tests.support.waiting import poll_until, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(300)]

START_SECONDS = 120
STOP_SECONDS = 60
COMMAND = (sys.executable, "-m", "acklog.command")


def ask(url: str, method: str, target: str, document: object = None) -> tuple[int, Any]:
    """Status and document of one request on a connection of its own."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    with contextlib.closing(connection):
        content = None if document is None else json.dumps(document)
        connection.request(method, target, body=content, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


class Up:
    """`acklog cluster up --json` in a process of its own."""

    def __init__(self, directory: Path, etcd_program: Path, *options: str) -> None:
        self.errors_path = directory / "up.errors"
        arguments = ["cluster", "up", "--json", "--port", "0", "--etcd-program", str(etcd_program), *options]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
        with self.errors_path.open("wb") as errors:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments],
                cwd=REPOSITORY,
                env={**inherited, "TMPDIR": str(directory)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    @property
    def errors(self) -> str:
        return self.errors_path.read_text(errors="replace")

    def ready(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        assert self.process.wait(timeout=STOP_SECONDS) == 0, self.errors

    def pid_of(self, name: str) -> int:
        """Of the latest start."""
        return int(re.findall(rf"^{name}: ready .* pid ([0-9]+)$", self.errors, re.MULTILINE)[-1])


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_whole_cluster_from_its_start_to_its_end(tmp_path: Path, etcd_program: Path) -> None:
    data = tmp_path / "data"
    up = Up(tmp_path, etcd_program, "--data-dir", str(data))
    try:
        ready = up.ready()
        first, second = ready["gateways"]
        assert (len(ready["nodes"]), len(ready["etcd"]), ready["directory"]) == (3, 1, str(data))
        for number in range(10):
            status, answer = ask(first, "POST", "/messages", {"queue": "orders", "body": number, "key": str(number)})
            assert status == 201, answer
        names = ["etcd 1", "node 1", "node 2", "node 3", "gateway 1", "gateway 2"]
        pids = [up.pid_of(name) for name in names]
        os.kill(up.pid_of("node 2"), signal.SIGKILL)
        for number in range(10, 20):
            status, answer = ask(second, "POST", "/messages", {"queue": "orders", "body": number, "key": str(number)})
            assert status == 201, answer
        wait_until(lambda: up.errors.count("node 2: ready") == 2, seconds=START_SECONDS, what="node 2 is back")
        assert "node 2: killed by signal 9" in up.errors
        status, answer = ask(second, "GET", "/messages?queue=orders&max=100&waitSeconds=5")
        got = {message["body"] for message in answer["messages"]}
        receipts = [message["receipt"] for message in answer["messages"]]
        assert (status, got) == (200, set(range(20)))
        assert ask(first, "POST", "/ack", {"receipts": receipts})[0] == 200
        pids.append(up.pid_of("node 2"))
        up.stop(signal.SIGTERM)
        assert "Everything is stopped." in up.errors
        assert not any(map(is_alive, pids))
    finally:
        up.process.kill()
    again = Up(tmp_path, etcd_program, "--data-dir", str(data), "--gateways", "1")
    try:
        [gateway] = again.ready()["gateways"]
        status, answer = ask(gateway, "GET", "/messages?queue=orders&waitSeconds=1")
        assert (status, answer["messages"]) == (200, []), "what was acknowledged stays acknowledged"
        assert ask(gateway, "GET", "/topics/orders")[0] == 200
        again.stop(signal.SIGINT)
    finally:
        again.process.kill()


def test_a_cluster_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    up = Up(tmp_path, Path(sys.executable))
    assert up.process.wait(timeout=START_SECONDS) == 1
    assert "etcd 1: stopped" in up.errors
    assert "node 1: st" not in up.errors
    assert "etcd 1: the server ended with 2" in up.errors
    assert list(tmp_path.glob("acklog-cluster-*")) == []


@pytest.fixture
async def cluster(tmp_path: Path, etcd_program: Path) -> AsyncIterator[LocalCluster]:
    """Two nodes and a gateway; a node each is enough to hand over to."""
    made = LocalCluster(tmp_path / "cluster", etcd_program, LocalClusterOptions(nodes=2, gateways=1))
    try:
        await made.start()
        yield made
    finally:
        await made.stop()


async def test_a_planned_stop_of_a_node_is_not_noticed(cluster: LocalCluster) -> None:
    """And a later start takes part again; so does a gateway, which has nothing to remember."""
    [url] = cluster.gateway_urls
    first, second = cluster.of_kind(Kind.NODE)
    settings = {"partitions": 4, "replicationFactor": 2}
    assert (await asyncio.to_thread(ask, url, "PUT", "/topics/orders", settings))[0] in {200, 201}

    async def in_sync(count: int) -> bool:
        _, topic = await asyncio.to_thread(ask, url, "GET", "/topics/orders")
        states = topic["partitionStates"]
        return len(states) == 4 and all(len(state["inSyncReplicas"]) == count for state in states)

    await poll_until(lambda: in_sync(2), seconds=60, what="two in sync")
    answers: list[tuple[int, Any]] = []
    is_over = asyncio.Event()

    async def send() -> None:
        number = 0
        while not is_over.is_set() or number < 20:
            document = {"queue": "orders", "body": number, "partition": number % 4}
            answers.append(await asyncio.to_thread(ask, url, "POST", "/messages", document))
            number += 1

    sending = asyncio.create_task(send())
    await poll_until(lambda: _true(len(answers) > 5), seconds=30, what="some messages")
    await first.process.stop()
    _, topic = await asyncio.to_thread(ask, url, "GET", "/topics/orders")
    assert {state["leader"] for state in topic["partitionStates"]} == {2}
    await cluster.start_member(first)
    await poll_until(lambda: in_sync(2), seconds=60, what="two in sync again")
    is_over.set()
    await sending
    refused = [answer for answer in answers if answer[0] != 201]
    assert refused == []
    [gateway] = cluster.of_kind(Kind.GATEWAY)
    await cluster.kill_member(gateway)
    assert gateway.life is Life.ENDED
    await cluster.start_member(gateway)
    received: list[str] = []
    while len(received) < len(answers):
        where = "/messages?queue=orders&max=1000&waitSeconds=5&autoAck=true"
        status, answer = await asyncio.to_thread(ask, url, "GET", where)
        assert status == 200
        assert answer["messages"], f"{len(received)} of {len(answers)} messages came"
        received += [message["messageId"] for message in answer["messages"]]
    assert sorted(received) == sorted(answer["messageId"] for _, answer in answers)
    assert second.life is Life.READY


async def _true(condition: bool) -> bool:
    return condition


async def test_mistakes_are_one_line_each(cluster: LocalCluster, tmp_path: Path) -> None:
    [first_etcd] = cluster.of_kind(Kind.ETCD)
    endpoint = first_etcd.process.url
    node = cluster.of_kind(Kind.NODE)[0]
    used = str(cluster.directory / "node-1")
    fresh = str(tmp_path / "fresh")
    listen = ("--listen", node.address)
    [port] = free_ports(1)
    mistakes = [
        (
            ["node", "--id", "1", "--data-dir", used, "--http", "127.0.0.1:0", "--etcd", endpoint],
            f"acklog: Another process uses the data directory {used}. Stop it, or give another --data-dir.",
        ),
        (
            ["node", "--id", "9", "--data-dir", fresh, "--http", "127.0.0.1:0", "--etcd", endpoint, *listen],
            f"acklog: Node 9 cannot run on {node.address}",
        ),
        (
            ["gateway", "--port", "0", "--etcd", f"127.0.0.1:{port}", "--etcd-wait-ms", "0"],
            f"acklog: etcd cannot be reached at 127.0.0.1:{port}",
        ),
    ]
    for arguments, says in mistakes:
        done = await asyncio.to_thread(
            subprocess.run,
            [*COMMAND, *arguments, "--log-level", "error"],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(says), done.stderr
        assert done.stderr.count("\n") == 1
