"""Streams over connections that break, in virtual time."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from acklog import AsyncClient
from acklog.client.call import Response
from acklog.cluster_picture import ClusterPicture
from acklog.errors import (
    AcklogError,
    CannotConnect,
    ClientClosed,
    ConnectionFailed,
    Forbidden,
    InvalidArgument,
    TokenExpired,
    TooManyPartitions,
    TooManyWatchers,
    TopicRemoved,
    UnexpectedAnswer,
)
from acklog.tails import TailGap
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_log import problem
from tests.unit.sdk.scripted_streams import SILENCE, ScriptedStreams

Main = Callable[[AsyncClient], Coroutine[Any, Any, None]]
AWAY = CannotConnect("away")


def event(name: str, data: object, event_id: str = "") -> bytes:
    identity = f"id: {event_id}\n" if event_id else ""
    return f"event: {name}\n{identity}data: {json.dumps(data)}\n\n".encode()


def message(offset: int, **fields: object) -> bytes:
    data = {"messageId": f"m-{offset}", "queue": "t", "partition": 0, "offset": offset, "body": offset}
    return event("message", {**data, "timestamp": 1, "appendTime": 2, **fields}, f"at-{offset + 1}")


def end(reason: str, **fields: object) -> bytes:
    return event("end", {"reason": reason, **fields})


def run(transport: ScriptedStreams, main: Main) -> None:
    async def everything(_loop: SimLoop) -> None:
        async with AsyncClient(transport=transport) as client:
            await main(client)

    simulate(0, everything)


def test_messages_come_in_turn_each_with_the_place_behind_it() -> None:
    async def main(client: AsyncClient) -> None:
        async with client.tail("t", from_="earliest") as tail:
            assert tail.cursor == ""
            first = await anext(tail)
            assert (first.body, first.offset, first.cursor, tail.cursor) == (0, 0, "at-1", "at-1")
            assert (await anext(tail)).body == 1
            assert tail.cursor == "at-2"
        with pytest.raises(StopAsyncIteration):
            await anext(tail)

    whole = event("position", {}, "at-0") + message(0) + b":\n\n" + message(1)
    transport = ScriptedStreams([whole[:70], whole[70:140], whole[140:], SILENCE])
    run(transport, main)
    [request] = transport.requests
    assert (request.target, request.headers["Accept"]) == (
        "/topics/t/tail?from=earliest&maxBodyBytes=1048576",
        "text/event-stream",
    )
    assert transport.answers[0].is_closed


@pytest.mark.parametrize(
    "broken",
    [
        [message(0), message(1)],
        [message(0) + message(1) + message(2)[:40]],
        [message(0), message(1), ConnectionFailed("reset")],
        [message(0) + message(1) + end("shutdown")],
        [message(0), message(1), end("rights", code="FORBIDDEN")],
        [message(0), message(1), end("of-a-later-version")],
        [message(0), message(1), b"event: end\ndata: no json\n\n"],
        [message(0), message(1), SILENCE],
    ],
)
def test_a_break_of_any_kind_goes_on_behind_the_last_message(broken: list[Any]) -> None:
    transport = ScriptedStreams(broken, AWAY, problem(503, "UNAVAILABLE", True), [message(2), SILENCE])

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            assert [(await anext(tail)).body for _ in range(3)] == [0, 1, 2]

    run(transport, main)
    assert transport.ids == ["", "at-2", "at-2", "at-2"]
    assert all(answer.is_closed for answer in transport.answers)


def test_a_connection_is_given_up_only_when_not_even_a_comment_comes() -> None:
    transport = ScriptedStreams([message(0), SILENCE], [message(1), SILENCE])

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            await anext(tail)
            await anext(tail)

    run(transport, main)
    assert 45 <= transport.times_s[1] - transport.times_s[0] <= 46


def test_a_place_without_a_message_is_gone_on_behind_too() -> None:
    transport = ScriptedStreams([message(0), event("position", {}, "at-90")], [message(90), SILENCE])

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            await anext(tail)
            assert tail.cursor == "at-1"
            await anext(tail)

    run(transport, main)
    assert transport.ids == ["", "at-90"]


@pytest.mark.parametrize(("reason", "kind"), [("topicRemoved", TopicRemoved), ("partitions", TooManyPartitions)])
def test_some_ends_are_final_and_come_behind_all_messages(reason: str, kind: type[AcklogError]) -> None:
    transport = ScriptedStreams([message(0) + end(reason)])

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            assert (await anext(tail)).body == 0
            for _ in range(2):
                with pytest.raises(kind):
                    await anext(tail)

    run(transport, main)
    assert len(transport.requests) == 1


def test_an_end_of_the_token_waits_for_another_one_to_be_found() -> None:
    gone = problem(401, "TOKEN_EXPIRED", False)
    transport = ScriptedStreams([message(0) + end("token", code="TOKEN_EXPIRED")], [message(1), end("token")], gone)

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            assert [(await anext(tail)).body for _ in range(2)] == [0, 1]
            with pytest.raises(TokenExpired):
                await anext(tail)

    run(transport, main)
    assert transport.times_s[1] - transport.times_s[0] >= 1
    assert transport.ids == ["", "at-1", "at-2"]


def test_what_the_first_answer_refuses_is_raised_at_once_and_what_may_pass_is_waited_for() -> None:
    refused = ScriptedStreams(problem(403, "FORBIDDEN", False))
    full = ScriptedStreams(problem(429, "TOO_MANY_WATCHERS", True, headers={"retry-after": "5"}))
    strange = ScriptedStreams(Response(200, b"<html>", {"content-type": "text/html"}))

    async def raises(client: AsyncClient, kind: type[AcklogError]) -> None:
        with pytest.raises(kind):
            await anext(client.tail("t"))

    run(refused, lambda client: raises(client, Forbidden))
    run(strange, lambda client: raises(client, UnexpectedAnswer))
    run(full, lambda client: raises(client, TooManyWatchers))
    assert len(refused.requests) == len(strange.requests) == 1
    assert 2 <= len(full.requests) <= 4
    assert full.times_s[-1] - full.times_s[0] <= 15


def test_what_is_no_stream_of_events_is_told() -> None:
    for piece in (event("message", {"no": "message"}, "1"), b"event: message\ndata: \xff\n\n"):

        async def main(client: AsyncClient) -> None:
            with pytest.raises(UnexpectedAnswer):
                await anext(client.tail("t"))

        run(ScriptedStreams([piece, SILENCE]), main)


def test_gaps_are_told_in_turn_and_one_that_is_refused_is_told_again_next_time() -> None:
    gap = {"reason": "removed", "partition": 0, "fromOffset": 1, "nextOffset": 5}
    transport = ScriptedStreams([message(0) + event("gap", gap, "at-5") + message(5), SILENCE])
    told: list[object] = []

    async def main(client: AsyncClient) -> None:
        async with client.tail("t", on_gap=told.append) as tail:
            async for each in tail:
                told.append(each.offset)
                if each.offset == 5:
                    break

    run(transport, main)
    assert told == [0, TailGap("removed", 0, 1, 5), 5]

    def refuse(found: TailGap) -> None:
        raise ValueError(found.reason)

    async def refuses(client: AsyncClient) -> None:
        async with client.tail("t", on_gap=refuse) as tail:
            await anext(tail)
            with pytest.raises(ValueError, match="removed"):
                await anext(tail)
            assert tail.cursor == "at-1"

    run(ScriptedStreams([message(0) + event("gap", gap, "at-5"), SILENCE]), refuses)


def test_a_wait_that_is_given_up_loses_nothing() -> None:
    transport = ScriptedStreams([message(0), SILENCE])

    async def main(client: AsyncClient) -> None:
        async with client.tail("t") as tail:
            for _ in range(20):
                waiting = asyncio.ensure_future(anext(tail))
                await asyncio.sleep(0)
                waiting.cancel()
                [outcome] = await asyncio.gather(waiting, return_exceptions=True)
                if not isinstance(outcome, BaseException):
                    break
            else:
                outcome = await anext(tail)
            assert outcome.body == 0

    run(transport, main)


def test_closing_ends_an_iteration_that_waits() -> None:
    async def main(client: AsyncClient) -> None:
        tail = client.tail("t")
        waiting = asyncio.ensure_future(anext(tail))
        await asyncio.sleep(1)
        await tail.close()
        with pytest.raises(StopAsyncIteration):
            await waiting

    transport = ScriptedStreams([SILENCE])
    run(transport, main)
    assert transport.answers[0].is_closed


def test_a_closed_client_has_no_streams() -> None:
    async def main(client: AsyncClient) -> None:
        await client.close()
        with pytest.raises(ClientClosed):
            await anext(client.events())

    run(ScriptedStreams([SILENCE]), main)


def test_events_are_typed_and_go_on_by_their_id() -> None:
    topic = {"name": "t", "id": "i", "partitions": 4, "replicationFactor": 3, "messagesPerSecond": None, "bytes": 7}
    pages = [
        event("snapshot", {"time": 1, "first": True, "reason": "start", "last": False, "topics": [topic]}, "r-1"),
        event("snapshot", {"time": 1, "first": False, "last": True, "totals": {"lag": 3}}, "r-2"),
    ]
    removed = {"topics": ["t"], "groups": [["g", "t"]], "nodes": [1], "partitions": [["t", 0]]}
    changes = event("changes", {"time": 2, "last": True, "removed": removed, "later": 1}, "r-3")
    transport = ScriptedStreams([*pages], [changes, end("rights")], [*pages, SILENCE])

    async def main(client: AsyncClient) -> None:
        picture = ClusterPicture()
        async with client.events(kinds=["topics", "totals"], topics="t") as events:
            picture.apply(await anext(events))
            assert not picture.is_whole
            picture.apply(await anext(events))
            assert picture.is_whole
            assert (picture.topics["t"].size_bytes, picture.totals and picture.totals.lag) == (7, 3)
            change = await anext(events)
            assert (change.removed.groups, change.cursor, events.cursor) == ([("g", "t")], "r-3", "r-3")
            picture.apply(change)
            assert (picture.topics, picture.totals and picture.totals.lag) == ({}, 3)
            assert (await anext(events)).is_first

    run(transport, main)
    assert transport.requests[0].target == "/events?kinds=topics%2Ctotals&topics=t"
    assert transport.ids == ["", "r-2", ""], "with other rights what was told does not count"


def test_a_cursor_goes_on_where_another_program_was() -> None:
    transport = ScriptedStreams([message(0), SILENCE])

    async def main(client: AsyncClient) -> None:
        tail = client.tail("t", cursor="kq1ianNt-_", partitions=[3, 4], tags=["a", "b"])
        assert tail.cursor == "kq1ianNt-_"
        await anext(tail)

    run(transport, main)
    assert transport.ids == ["kq1ianNt-_"]
    assert transport.requests[0].target == "/topics/t/tail?partition=3&partition=4&tags=a%2Cb&maxBodyBytes=1048576"


@pytest.mark.parametrize(
    "arguments",
    [
        {"cursor": "a\r\nX: y"},
        {"cursor": "x" * 4097},
        {"cursor": "c", "from_": "latest"},
        {"cursor": "c", "time_ms": 0},
        {"cursor": "c", "offsets": {0: 1}},
        {"silence_timeout_ms": 0},
    ],
)
def test_what_cannot_be_right_is_refused_at_once(arguments: dict[str, Any]) -> None:
    async def main(client: AsyncClient) -> None:
        with pytest.raises(InvalidArgument):
            client.tail("t", **arguments)

    run(ScriptedStreams([SILENCE]), main)
