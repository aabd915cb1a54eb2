"""No request holds the event loop for long: everything else that the process does would wait for it."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path

import pytest

from tests.support.machine_speed import slowness
from tests.support.server_process import Answer, ServerProcess
from tests.support.watched_server import STALLS_VARIABLE, stalls_since

pytestmark = pytest.mark.integration

STALL_SECONDS_MAX = 0.05
TRIES = 3
MIB = 1024 * 1024
SOURCE = json.dumps(Path(__file__).read_text() * 40).encode()
NEST = b"[" * 60 + b"]" * 60


@dataclass(frozen=True)
class Watched:
    server: ServerProcess
    stalls_file: Path

    def longest_stall(self, act: Callable[[], object], *, tries: int = TRIES) -> float:
        """The least of a few tries: what else the machine does only ever adds. `act` does the same work each time.

        In seconds of the machine on which the limit was set."""
        least = float("inf")
        for _ in range(tries):
            begin = time.monotonic()
            act()
            self.server.request("GET", "/healthz")  # the loop has turned once more: the last stall is written down
            least = min(least, max(stalls_since(self.stalls_file, begin), default=0.0) / slowness())
            if least < STALL_SECONDS_MAX:
                break
        return least


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    directory = tmp_path_factory.mktemp("watched")
    stalls = directory / "stalls"
    with ServerProcess(
        directory / "data",
        directory / "server.log",
        environment={STALLS_VARIABLE: str(stalls)},
        program="tests.support.watched_server",
    ) as server:
        server.send("warm", "up")
        yield Watched(server, stalls)


def batch(message: bytes, *, size_bytes: int = 15 * MIB, count_max: int = 10_000) -> bytes:
    count = min(count_max, size_bytes // (len(message) + 1))
    return b'{"queue":"q","messages":[' + b",".join([message] * count) + b"]}"


JSON_BODIES: dict[str, Callable[[], bytes]] = {
    "one_nest": lambda: b'{"queue":"q","messages":' + b"[" * 6 * MIB + b"]" * 6 * MIB + b"}",
    "nested_messages": lambda: batch(NEST, count_max=1_000_000),
    "nested_bodies": lambda: batch(b'{"body":' + NEST + b"}", count_max=1_000_000),
    "nests_in_bodies": lambda: batch(b'{"body":[' + b",".join([NEST] * 8_000) + b"]}"),
    "empty_arrays_in_bodies": lambda: batch(b'{"body":[' + b",".join([b"[]"] * 330_000) + b"]}"),
    "empty_strings_in_bodies": lambda: batch(b'{"body":[' + b'"",' * 340_000 + b"[],[]," * 100 + b"1]}"),
    "backslashes_in_bodies": lambda: batch(b'{"body":"' + rb"\\" * 500_000 + b"[]" * 100 + b'"}'),
    "source_code": lambda: batch(b'{"body":' + SOURCE + b"}"),
    "headers_of_one": lambda: (
        b'{"queue":"q","body":1,"headers":{' + b",".join(b'"%d":""' % i for i in range(1_300_000)) + b"}}"
    ),
    "tags_of_one": lambda: b'{"queue":"q","body":1,"tags":[' + b",".join([b'""'] * 5_000_000) + b"]}",
    "headers_of_each": lambda: batch(b'{"body":1,"headers":{' + b",".join(b'"%d":""' % i for i in range(200)) + b"}}"),
    "key_of_escapes": lambda: b'{"queue":"q","body":1,"key":"' + rb"\u0041" * 2_500_000 + b'"}',
    "other_alphabet": lambda: batch(b'{"body":"' + "ж".encode() * 500_000 + b'"}'),
    "faults": lambda: batch(b'{"body":1,"x":1}'),
    "numbers": lambda: batch(b"1", size_bytes=14 * MIB, count_max=7_000_000),
    "few_numbers": lambda: batch(b"1"),
    "empty_objects": lambda: batch(b"{}", size_bytes=14 * MIB, count_max=5_000_000),
    "few_empty_objects": lambda: batch(b"{}"),
    "unplaceable": lambda: batch(b'{"body":1,"partition":1000}'),
    "whitespace": lambda: b'{"queue":"q","messages":[' + b" " * 15 * MIB + b"]}",
    "envelope_whitespace": lambda: b" " * 15 * MIB + b'{"queue":"q","body":1}',
    "digits": lambda: b'{"queue":"q","body":' + b"1" * 15 * MIB + b"}",
    "ordinary": lambda: batch(b'{"body":{"a":1,"b":"' + b"x" * 1400 + b'"},"key":"a"}'),
    "ordinary_with_headers": lambda: batch(b'{"body":{"a":"' + b"x" * 1400 + b'"},"headers":{"a":"b"},"tags":["t"]}'),
    "small": lambda: batch(b'{"body":1}'),
    "small_keyed": lambda: batch(b'{"body":1,"dedupId":"a"}'),
}


@pytest.mark.parametrize("name", JSON_BODIES)
def test_json(watched: Watched, name: str) -> None:
    body = JSON_BODIES[name]()
    stall = watched.longest_stall(lambda: post(watched, body))
    assert stall < STALL_SECONDS_MAX


def test_lines(watched: Watched) -> None:
    lines = b"\n".join([b'{"body":"' + b"x" * 1400 + b'","headers":{"a":"b"}}'] * 10_000)
    query = "/messages?queue=lines"
    kind = {"Content-Type": "application/x-ndjson"}
    assert watched.longest_stall(lambda: watched.server.request("POST", query, content=lines, headers=kind)) < 0.05
    for short in (b"1", b"{}"):
        few = b"\n".join([short] * 10_000)
        assert watched.longest_stall(lambda: watched.server.request("POST", query, content=few, headers=kind)) < 0.05  # noqa: B023
    deep = b"\n".join([b'{"body":[' + b",".join([NEST] * 8_000) + b"]}"] * 14)
    assert watched.longest_stall(lambda: watched.server.request("POST", query, content=deep, headers=kind)) < 0.05


GZIPS: dict[str, Callable[[], bytes]] = {
    "empty_members": lambda: gzip.compress(b"", mtime=0) * (15 * MIB // 20),
    "bomb": lambda: gzip.compress(b" " * 300 * MIB, mtime=0),
    "full": lambda: gzip.compress(batch(b'{"body":1}', size_bytes=16 * MIB) + b" " * 15 * MIB, mtime=0),
}


@pytest.mark.parametrize("name", GZIPS)
def test_gzip(watched: Watched, name: str) -> None:
    body = GZIPS[name]()
    assert watched.longest_stall(lambda: post(watched, body, {"Content-Encoding": "gzip"})) < STALL_SECONDS_MAX


SETTLEMENTS: dict[str, Callable[[], bytes]] = {
    "receipts": lambda: json.dumps(
        {"receipts": [f"r-akna6k7shy2ya-0-{i}-2nehaadj6b1yg-0-1-1" for i in range(10_000)]}
    ).encode(),
    "not_receipts": lambda: json.dumps({"receipts": ["x"] * 10_000}).encode(),
    "ids_of_everywhere": lambda: json.dumps({"messageIds": [f"m-{i:013d}-0-1-1" for i in range(10_000)]}).encode(),
    "lists": lambda: b'{"receipts":[' + b",".join([b"[]"] * 800_000) + b"]}",
    "nest": lambda: b'{"receipts":[' + b"[" * MIB + b"]" * MIB + b"]}",
}


@pytest.mark.parametrize("name", SETTLEMENTS)
def test_settlements(watched: Watched, name: str) -> None:
    body = SETTLEMENTS[name]()
    assert watched.longest_stall(lambda: post(watched, body, target="/ack")) < STALL_SECONDS_MAX


@pytest.mark.parametrize("target", ["/ack", "/nack", "/extend"])
def test_receipts_of_many_topics_again_and_again(watched: Watched, target: str) -> None:
    """Which nobody has made. What each leaves to the garbage collector would hold the loop only now and then."""
    group_id = watched.server.request("PUT", "/groups/of-many-topics", {}).document["id"]
    document: dict[str, object] = {"receipts": [f"r-{i:013d}-0-0-{group_id}-0-1-1" for i in range(10_000)]}
    if target == "/extend":
        document["visibilitySeconds"] = 3
    body = json.dumps(document).encode()

    def act() -> None:
        for _ in range(8):
            post(watched, body, target=target)

    assert watched.longest_stall(act) < STALL_SECONDS_MAX


@pytest.mark.parametrize("size", [1_500, 10])
def test_ack_of_many(watched: Watched, size: int) -> None:
    queue = f"acked-{size}"
    watched.server.request("PUT", f"/topics/{queue}", {"partitions": 1})
    post(watched, json.dumps({"queue": queue, "messages": [{"body": "x" * size}] * 5_000}).encode())
    receipts: list[str] = []
    while len(receipts) < 5_000:
        receipts += [each["receipt"] for each in watched.server.receive(queue, max=1000, maxBytes=16 * MIB)]
    body = json.dumps({"receipts": receipts}).encode()
    stall = watched.longest_stall(lambda: post(watched, body, target="/ack"), tries=1)  # a second time all is done
    assert stall < STALL_SECONDS_MAX


@pytest.mark.parametrize("partitions", [1, 1_000])
def test_receipts_of_many_groups(watched: Watched, partitions: int) -> None:
    """Which nobody has made: they are told apart from those that somebody has, and asked for once."""
    topic = f"of-many-groups-{partitions}"
    topic_id = watched.server.request("PUT", f"/topics/{topic}", {"partitions": partitions}).document["id"]
    ids = ("".join(each) for each in product("0123456789abcdefghjk", repeat=13))
    receipts = [f"r-{topic_id}-{i % partitions}-0-{next(ids)}-0-1-1" for i in range(10_000)]
    body = json.dumps({"receipts": receipts}).encode()
    assert watched.longest_stall(lambda: post(watched, body, target="/ack")) < STALL_SECONDS_MAX


def test_receipts_of_many_partitions_and_groups(watched: Watched) -> None:
    topic_id = watched.server.request("PUT", "/topics/of-many-places", {"partitions": 1_000}).document["id"]
    groups = [watched.server.request("PUT", f"/groups/of-many-{i}", {}).document["id"] for i in range(10)]
    receipts = [f"r-{topic_id}-{i}-0-{group}-0-1-1" for i in range(1_000) for group in groups]
    body = json.dumps({"receipts": receipts}).encode()
    assert watched.longest_stall(lambda: post(watched, body, target="/ack")) < STALL_SECONDS_MAX


READS = {
    "receive": ("/messages?queue=read&group=g{0}&max=1000&maxBytes=16777216", "application/json"),
    "receive_lines": ("/messages?queue=read&group=n{0}&max=1000&maxBytes=16777216", "application/x-ndjson"),
    "records": ("/topics/read/partitions/0/records?maxBytes=16777216", "application/json"),
    "record_lines": ("/topics/read/partitions/0/records?maxBytes=16777216", "application/x-ndjson"),
    "arrow": ("/topics/read/partitions/0/records?maxBytes=16777216", "application/vnd.apache.arrow.stream"),
    "small_records": ("/topics/tiny/partitions/0/records?maxBytes=16777216", "application/json"),
    "small_record_lines": ("/topics/tiny/partitions/0/records?maxBytes=16777216", "application/x-ndjson"),
    "small_arrow": ("/topics/tiny/partitions/0/records?maxBytes=16777216", "application/vnd.apache.arrow.stream"),
}


@pytest.fixture(scope="module")
def readable(watched: Watched) -> Watched:
    """Two topics to read: 16 MiB in messages of 16 KiB, and of one byte."""
    for topic in ("read", "tiny"):
        watched.server.request("PUT", f"/topics/{topic}", {"partitions": 1})
    post(watched, json.dumps({"queue": "read", "messages": [{"body": "x" * 15_500}] * 1_000}).encode())
    tiny = json.dumps({"queue": "tiny", "messages": [{"body": 1}] * 10_000}).encode()
    for _ in range(20):
        post(watched, tiny)
    # The library is loaded in a thread, once; how long its own code keeps the interpreter is not for us to bound.
    accept = {"Accept": "application/vnd.apache.arrow.stream"}
    watched.server.request("GET", "/topics/tiny/partitions/0/records?maxBytes=1", headers=accept)
    return watched


@pytest.mark.parametrize("name", READS)
def test_reads(readable: Watched, name: str) -> None:
    target, accepted = READS[name]
    groups = count()

    def read() -> Answer:
        return readable.server.request("GET", target.format(next(groups)), headers={"Accept": accepted})

    for _ in range(2):  # what was just written is still in memory; the second time everything is warm
        assert readable.longest_stall(read) < STALL_SECONDS_MAX


def post(
    watched: Watched, content: bytes, headers: dict[str, str] | None = None, *, target: str = "/messages"
) -> Answer:
    kind = {"Content-Type": "application/json", **(headers or {})}
    answer = watched.server.request("POST", target, content=content, headers=kind, seconds=60)
    assert answer.status not in (500, 503), answer.content[:300]
    return answer
