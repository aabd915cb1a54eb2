"""Streams of a real server, to clients as plain as can be: what they say, how they go on, and how they end."""

import contextlib
import http.client
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

ADMIN = "admin-token-0123456789"
INTERVAL = ("--events-interval-ms", "100")


class Heard(NamedTuple):
    """One event of a stream."""

    name: str
    event_id: str
    data: dict[str, Any]


class Stream:
    """An open answer, line by line."""

    def __init__(self, server: ServerProcess, path: str, headers: dict[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self._connection.request("GET", path, headers=headers)
        self.answer = self._connection.getresponse()

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

    def events(self) -> Iterator[Heard]:
        """Until the stream ends."""
        fields: dict[str, str] = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name and not name.startswith(":"):
                fields[name] = value
            elif not name and fields:
                yield Heard(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
                fields = {}

    def until(self, name: str) -> Heard:
        return next(each for each in self.events() if each.name == name)


@contextlib.contextmanager
def stream(server: ServerProcess, path: str, **headers: str) -> Iterator[Stream]:
    opened = Stream(server, path, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=(*INTERVAL, "--tails-max", "2")) as found:
        yield found
        assert "Traceback" not in found.output()


def messages(found: Iterator[Heard], count: int) -> list[Heard]:
    only = (each for each in found if each.name == "message")
    return [next(only) for _ in range(count)]


def test_a_watcher_sees_what_comes_and_goes_and_goes_on_after_a_break(server: ServerProcess) -> None:
    server.send("orders", 1)
    with stream(server, "/events?kinds=topics,totals") as opened:
        headers = {name.lower(): value for name, value in opened.answer.getheaders()}
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-store"
        assert headers["x-accel-buffering"] == "no"
        events = opened.events()
        first = next(events)
        assert (first.name, first.data["first"], first.data["reason"]) == ("snapshot", True, "start")
        assert [each["name"] for each in first.data["topics"]] == ["orders"]
        assert server.request("PUT", "/topics/later").status == 201
        came = next(each for each in events if any(t["name"] == "later" for t in each.data.get("topics", [])))
        assert came.name == "changes"
    assert server.request("DELETE", "/topics/later").status == 204
    with stream(server, "/events?kinds=topics", Last_Event_ID=came.event_id) as again:
        gone = next(each for each in again.events() if "removed" in each.data)
        assert (gone.name, gone.data["removed"]) == ("changes", {"topics": ["later"]})
    with stream(server, "/events?cursor=of-another-run") as strange:
        assert strange.until("snapshot").data["reason"] == "unknown"


def test_a_tail_goes_on_exactly_where_it_was_also_after_a_kill(server: ServerProcess) -> None:
    for number in range(20):
        server.send("orders", number)
    with stream(server, "/topics/orders/tail?from=earliest") as opened:
        seen = messages(opened.events(), 7)
    server.kill()
    server.start()
    with stream(server, "/topics/orders/tail", Last_Event_ID=seen[-1].event_id) as again:
        events = again.events()
        seen += messages(events, 13)
        server.send("orders", 20)
        seen += messages(events, 1)
    assert sorted(each.data["body"] for each in seen) == list(range(21))


def test_what_was_removed_before_it_was_read_is_told(server: ServerProcess) -> None:
    assert server.request("PUT", "/topics/orders", {"partitions": 1}).status == 201
    for number in range(3):
        server.send("orders", number)
    with stream(server, "/topics/orders/tail?from=earliest") as opened:
        seen = messages(opened.events(), 1)
    assert server.request("POST", "/topics/orders/purge", {}).status == 200
    server.send("orders", 3)
    with stream(server, f"/topics/orders/tail?cursor={seen[0].event_id}") as again:
        events = again.events()
        gap = next(events)
        if gap.name == "position":
            gap = next(events)
        assert (gap.name, gap.data) == ("gap", {"reason": "removed", "partition": 0, "fromOffset": 1, "nextOffset": 3})
        assert messages(events, 1)[0].data["body"] == 3
        assert server.request("DELETE", "/topics/orders").status == 204
        assert again.until("end").data == {"reason": "topicRemoved"}


def test_long_bodies_are_cut_and_say_so(server: ServerProcess) -> None:
    server.send("orders", "x" * 100)
    with stream(server, "/topics/orders/tail?from=earliest&maxBodyBytes=3") as opened:
        [message] = messages(opened.events(), 1)
    assert "body" not in message.data
    assert (message.data["bodyBase64"], message.data["truncated"], message.data["bodyBytes"]) == ("Inh4", True, 102)


def test_streams_have_places_and_a_shutdown_ends_them(server: ServerProcess) -> None:
    server.send("orders", 1)
    with stream(server, "/topics/orders/tail") as one, stream(server, "/topics/orders/tail") as two:
        one.until("position")
        two.until("position")
        refused = server.request("GET", "/topics/orders/tail")
        assert (refused.status, refused.code, "retry-after" in refused.headers) == (429, "TOO_MANY_WATCHERS", True)
        with stream(server, "/events") as watcher:
            watcher.until("snapshot")
            server.signal(signal.SIGTERM)
            for each in (one, two, watcher):
                assert each.until("end").data == {"reason": "shutdown"}


def test_a_token_that_is_withdrawn_ends_its_streams(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "admin", "token": ADMIN, "roles": ["admin"]}]}))
    tokens.chmod(0o600)
    options = (*INTERVAL, "--tokens-file", str(tokens))
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=options) as server:
        admin = {"Authorization": f"Bearer {ADMIN}"}
        for name in ("seen", "hidden"):
            assert server.request("PUT", f"/topics/{name}", headers=admin).status == 201
        rights = [{"allow": ["look"], "topics": ["seen"]}]
        made = server.request("POST", "/tokens", {"name": "few", "rights": rights}, headers=admin)
        few = f"Bearer {made.document['token']}"
        assert server.request("GET", "/topics/seen/tail", headers={"Authorization": few}).code == "FORBIDDEN"
        with stream(server, "/events", Authorization=few) as opened:
            snapshot = opened.until("snapshot")
            assert [each["name"] for each in snapshot.data["topics"]] == ["seen"]
            assert not {"totals", "nodes"} & snapshot.data.keys()
            assert server.request("DELETE", "/tokens/few", headers=admin).status == 204
            assert opened.until("end").data == {"reason": "token", "code": "UNAUTHENTICATED"}
