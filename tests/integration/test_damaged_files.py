"""Bit rot and torn tails in the files of a data directory."""

import json
from pathlib import Path

import pytest

from acklog.wire.identifiers import parse_message_id
from tests.integration.conftest import ServerMaker
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

MESSAGES = 20
NO_BACKGROUND_SYNC = {"ACKLOG_NODE_SYNC_INTERVAL_MS": "3600000"}  # the journal keeps everything


def store_messages(server: ServerProcess, topic: str) -> str:
    """Messages one by one, each a batch of its own, in both partitions of a new topic; returns the topic's id."""
    answer = server.request("PUT", f"/topics/{topic}", {"partitions": 2})
    assert answer.status in {200, 201}, answer
    message_id = None
    for partition in (0, 1):
        for number in range(MESSAGES):
            sent = server.send(topic, f"message {number} of {partition}", partition=partition)
            message_id = parse_message_id(sent["messageId"])
    assert message_id is not None
    return message_id.topic_id


def segment_of(server: ServerProcess, topic_id: str, partition: int) -> Path:
    """The only segment of a partition."""
    (segment,) = (server.data_directory / "partitions" / f"{topic_id}-{partition}").glob("*.log")
    return segment


def read(server: ServerProcess, topic: str, partition: int, offset: int) -> tuple[str, list[str]]:
    """Problem code and bodies of what a read from `offset` gives."""
    answer = server.request("GET", f"/topics/{topic}/partitions/{partition}/records?offset={offset}")
    bodies = [record["body"] for record in answer.document["records"]] if answer.status == 200 else []
    return answer.code, bodies


def flip_a_bit(path: Path, text: bytes) -> None:
    """Damage one bit of the place where `text` stands in the file."""
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 0x10
    path.write_bytes(content)


class TestBitRot:
    def test_what_is_damaged_is_refused_and_the_rest_is_served(self, server: ServerProcess) -> None:
        topic_id = store_messages(server, "orders")
        server.stop()
        flip_a_bit(segment_of(server, topic_id, 0), b"message 7 of 0")
        server.start()
        code, before = read(server, "orders", 0, 0)
        assert (code, before) == ("", [f"message {number} of 0" for number in range(7)])
        refusal = server.request("GET", "/topics/orders/partitions/0/records?offset=7")
        assert (refusal.status, refusal.code) == (503, "RECORDS_CORRUPT")
        assert refusal.document["retriable"] is False
        code, behind = read(server, "orders", 0, 8)
        assert (code, behind) == ("", [f"message {number} of 0" for number in range(8, MESSAGES)])
        code, other = read(server, "orders", 1, 0)
        assert (code, other) == ("", [f"message {number} of 1" for number in range(MESSAGES)])

    def test_the_other_partitions_go_on(self, server: ServerProcess) -> None:
        topic_id = store_messages(server, "orders")
        server.stop()
        flip_a_bit(segment_of(server, topic_id, 0), b"message 0 of 0")
        server.start()
        sent = server.send("orders", "later", partition=1)
        assert sent["offset"] == MESSAGES
        bodies = set()
        while messages := server.receive("orders", max=100):
            bodies |= {message["body"] for message in messages}
            assert server.ack(*[message["receipt"] for message in messages]).status == 200
        assert {f"message {number} of 1" for number in range(MESSAGES)} | {"later"} <= bodies
        assert "message 0 of 0" not in bodies

    def test_a_damaged_journal_stops_the_directory(self, make_server: ServerMaker) -> None:
        """A frame with valid ones behind it is no torn tail: acknowledged messages would be dropped in silence."""
        server = make_server(environment=NO_BACKGROUND_SYNC).start()
        store_messages(server, "orders")
        server.kill()
        journals = sorted((server.data_directory / "journal").iterdir())
        damaged = [path for path in journals if b"message 3 of 0" in path.read_bytes()]
        assert damaged, "the journal was trimmed before the kill"
        flip_a_bit(damaged[0], b"message 3 of 0")
        server.launch()
        server.wait_until_listening()
        answer = server.request("POST", "/messages", {"queue": "orders", "body": 1})
        assert (answer.status, answer.code) == (503, "STORAGE_FAILED")
        assert server.request("GET", "/readyz").status == 503
        assert "journal" in server.output()


class TestTornTail:
    def test_it_is_cut_and_reported(self, server: ServerProcess) -> None:
        topic_id = store_messages(server, "orders")
        server.stop()  # which writes the segments
        server.start()
        server.kill()
        segment = segment_of(server, topic_id, 1)
        content = segment.read_bytes()
        half_a_batch = content[:60]
        with segment.open("ab") as file:
            file.write(half_a_batch)
        server.start()
        report = [json.loads(line) for line in server.output().splitlines() if line.startswith("{")]
        assert any("torn" in json.dumps(line) for line in report), server.output()
        code, bodies = read(server, "orders", 1, 0)
        assert (code, bodies) == ("", [f"message {number} of 1" for number in range(MESSAGES)])
        assert server.send("orders", "later", partition=1)["offset"] == MESSAGES

    def test_what_has_not_reached_its_segment_comes_back_from_the_journal(self, make_server: ServerMaker) -> None:
        server = make_server(environment=NO_BACKGROUND_SYNC).start()
        topic_id = store_messages(server, "orders")
        server.kill()
        assert b"message 5 of 0" not in segment_of(server, topic_id, 0).read_bytes()
        server.start()
        code, bodies = read(server, "orders", 0, 0)
        assert (code, bodies) == ("", [f"message {number} of 0" for number in range(MESSAGES)])
