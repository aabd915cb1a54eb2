"""A data directory that goes forth and back between versions, by orderly stops and by kills."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_run import run_command
from tests.support.earlier_version import PROTOCOL_VERSIONS, REPOSITORY, check_out
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.faults, pytest.mark.timeout(600)]

EARLIER, PRESENT = "earlier", "present"
STARTS = [
    (EARLIER, "stop"),
    (EARLIER, "kill"),
    (PRESENT, "stop"),
    (PRESENT, "kill"),
    (EARLIER, "kill"),
    (PRESENT, "stop"),
]
TOPICS = ("flights", "gates")
GROUPS = ("workers", "audit")
PARTITIONS = 3
A_BATCH = 60


class Ledger:
    """What servers of either version have confirmed, and the requests that fill it."""

    def __init__(self) -> None:
        self.bodies: dict[str, object] = {}
        self.acked: set[tuple[str, str]] = set()
        self._numbers = count()

    def work(self, server: ServerProcess) -> None:
        for topic in TOPICS:
            server.request("PUT", f"/topics/{topic}", {"partitions": PARTITIONS})
            self._send(server, topic)
            for group in GROUPS:
                self._receive_some(server, topic, group)

    def _send(self, server: ServerProcess, topic: str) -> None:
        numbers = [next(self._numbers) for _ in range(A_BATCH)]
        messages = [{"key": f"k{number % 7}", "body": number, "dedupId": f"d{number}"} for number in numbers]
        tries = [server.request("POST", "/messages", {"queue": topic, "messages": messages}) for _ in range(2)]
        assert [answer.status for answer in tries] == [201, 201]
        first, second = ([result["messageId"] for result in answer.document["results"]] for answer in tries)
        assert first == second
        self.bodies.update(zip(first, numbers, strict=True))

    def _receive_some(self, server: ServerProcess, topic: str, group: str) -> None:
        """Half is acknowledged, the rest waits again after the restart; some of it given back."""
        messages = self._take(server, topic, group, maximum=A_BATCH)
        half = len(messages) // 2
        self._ack(server, group, messages[:half])
        nacked = {"receipts": [message["receipt"] for message in messages[half : half + 10]], "delaySeconds": 0}
        assert server.request("POST", "/nack", nacked).status == 200

    def drain(self, server: ServerProcess) -> None:
        """Whatever is left, to its end."""
        for topic in TOPICS:
            for group in GROUPS:
                while messages := self._take(server, topic, group, maximum=500):
                    self._ack(server, group, messages)

    def _take(self, server: ServerProcess, topic: str, group: str, *, maximum: int) -> list[dict[str, Any]]:
        messages = server.receive(topic, group, max=maximum, visibilitySeconds=600)
        for message in messages:
            assert message["body"] == self.bodies[message["messageId"]]
            assert (group, message["messageId"]) not in self.acked
        return messages

    def _ack(self, server: ServerProcess, group: str, messages: list[dict[str, Any]]) -> None:
        assert server.ack(*(message["receipt"] for message in messages)).status == 200
        self.acked |= {(group, message["messageId"]) for message in messages}

    def check_records(self, server: ServerProcess) -> None:
        """Everything that either version has stored is there, and nothing else."""
        read = {}
        for topic in TOPICS:
            for partition in range(PARTITIONS):
                offset = 0
                while found := records(server, topic, partition, offset):
                    read.update({record["messageId"]: record["body"] for record in found})
                    offset = found[-1]["offset"] + 1
        assert read == self.bodies


def records(server: ServerProcess, topic: str, partition: int, offset: int) -> list[dict[str, Any]]:
    answer = server.request("GET", f"/topics/{topic}/partitions/{partition}/records?offset={offset}")
    assert answer.status == 200, answer
    found: list[dict[str, Any]] = answer.document["records"]
    return found


@pytest.mark.parametrize("commit", PROTOCOL_VERSIONS)
def test_either_version_goes_on_where_the_other_ended(commit: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    sources = {EARLIER: check_out(commit, tmp_path / "earlier"), PRESENT: REPOSITORY}
    ledger = Ledger()
    for version, end in STARTS:
        with ServerProcess(data, tmp_path / f"{version}.log", source=sources[version]) as server:
            if ledger.bodies:
                ledger.check_records(server)
            ledger.work(server)
            ledger.check_records(server)
            server.stop() if end == "stop" else server.kill()
        checked = run_command("fsck", str(data))
        assert checked.exit_code == 0, checked.stdout
    with ServerProcess(data, tmp_path / "present.log") as server:
        ledger.drain(server)
    assert ledger.acked == {(group, message_id) for group in GROUPS for message_id in ledger.bodies}
