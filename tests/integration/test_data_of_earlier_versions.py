"""A data directory that goes forth and back between versions, by orderly stops and by kills."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_run import run_command
from tests.support.earlier_version import PROTOCOL_VERSIONS, REPOSITORY, check_out
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

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


EXPIRES_SOON_S = 1.0
LIVES_S = 3_600
WITH_LIFETIMES = "e6273e14"
"""Brought times to live; delays were there before."""


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_expires_and_what_is_to_come_is_as_the_earlier_version_wrote_it(end: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    source = check_out(WITH_LIFETIMES, tmp_path / "earlier")
    with ServerProcess(data, tmp_path / "earlier.log", source=source) as server:
        sent = _send_with_times(server)
        before = _told(server)

        def has_expired() -> bool:
            server.receive("codes", "skips", max=10, visibilitySeconds=1)
            return _state(server, sent["short"]) == "expired"

        wait_until(has_expired, seconds=30, what="a message expires")
        server.stop() if end == "stop" else server.kill()
    with ServerProcess(data, tmp_path / "present.log") as server:
        wait_until(lambda: len(records(server, "codes", 0, 0)) == 4, seconds=30, what="a message comes")
        short, own, by_topic, delayed = records(server, "codes", 0, 0)
        assert [each["body"] for each in (short, own, by_topic, delayed)] == ["short", "own", "topic", "delayed"]
        assert [each["expiresAt"] - each["appendTime"] for each in (short, own, by_topic, delayed)] == [
            EXPIRES_SOON_S * 1000,
            LIVES_S * 1000,
            2 * LIVES_S * 1000,
            LIVES_S * 1000,
        ]
        assert delayed["appendTime"] >= sent["delayed at"]
        assert _told(server) == before
        assert _state(server, sent["short"]) == "expired"
        for group in ("skips", "letters"):
            received = [each["body"] for each in server.receive("codes", group, max=10)]
            assert sorted(received) == ["delayed", "own", "topic"]
        letters = "/topics/codes.letters.dlq"
        wait_until(lambda: server.request("GET", letters).status == 200, seconds=30, what="there is a letter")
        [letter] = server.receive("codes.letters.dlq", "readers", waitSeconds=10)
        assert (letter["body"], letter["headers"]["acklog-dead-letter-cause"]) == ("short", "expired")
        server.stop()
    checked = run_command("fsck", str(data))
    assert checked.exit_code == 0, checked.stdout


def _send_with_times(server: ServerProcess) -> dict[str, Any]:
    config = {"partitions": 1, "config": {"ttlMs": 2 * LIVES_S * 1000}}
    assert server.request("PUT", "/topics/codes", config).status == 201
    for group, on_expired in (("skips", "skip"), ("letters", "deadLetter")):
        made = server.request("PUT", f"/groups/{group}", {"settings": {"onExpired": on_expired}})
        assert made.status == 201
    messages = [
        {"body": "short", "ttlSeconds": EXPIRES_SOON_S},
        {"body": "own", "ttlSeconds": LIVES_S},
        {"body": "topic"},
        {"body": "delayed", "delaySeconds": 3, "ttlSeconds": LIVES_S},
        {"body": "far", "delaySeconds": LIVES_S, "ttlSeconds": LIVES_S},
    ]
    answer = server.request("POST", "/messages", {"queue": "codes", "messages": messages})
    assert answer.status == 201
    results = answer.document["results"]
    schedule = {"everySeconds": LIVES_S, "message": {"body": "again", "ttlSeconds": 60}}
    assert server.request("PUT", "/topics/codes/schedules/hourly", schedule).status == 201
    return {"short": results[0]["messageId"], "delayed at": results[3]["deliverAt"]}


def _told(server: ServerProcess) -> dict[str, Any]:
    """What does not change by itself."""
    config = server.request("GET", "/topics/codes").document["config"]
    listed = server.request("GET", "/topics/codes/scheduled").document["scheduled"]
    recurring = server.request("GET", "/topics/codes/schedules/hourly").document
    groups = [server.request("GET", f"/groups/{group}").document for group in ("skips", "letters")]
    return {
        "ttl": config["ttlMs"],
        "far": [(each["scheduleId"], each["deliverAt"]) for each in listed][-1:],
        "recurring": (recurring["everySeconds"], recurring["nextAt"]),
        "groups": [(each["id"], each["settings"]["onExpired"]) for each in groups],
    }


def _state(server: ServerProcess, message_id: str) -> str:
    """What the group that skips has done with it."""
    groups = server.request("GET", f"/messages/{message_id}").document["groups"]
    return str(next((each["state"] for each in groups if each["group"] == "skips"), ""))
