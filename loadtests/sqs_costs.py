"""What calls of SQS cost beside our own: `python -m loadtests.sqs_costs` starts a server that asks nobody who they are
and one with an access key, and lets the same client call them by turns, one request after the other on each connection.

The client may be what limits the rate, and a machine that is busy with something else makes rates worth little. So the
server's own processor time for each message is shown first; `ratio` is the median of the rounds' ratios of it.

`--other-port` and `--other-pid` measure another server that speaks SQS, in the same rounds.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.table import Table

from loadtests.http_connection import HttpConnection, connect
from loadtests.process_usage import usage_of
from loadtests.sqs_calls import (
    MESSAGES,
    Pair,
    filling,
    json_pair,
    json_sends,
    made_queue,
    own_filling,
    own_pair,
    own_sends,
    query_sends,
    signed_sends,
)
from tests.support.server_process import ServerProcess
from tests.support.sqs_access import BEARER, KEY_ID, SECRET

CONNECTIONS = 64
FILLING_CONNECTIONS = 16
WORKERS = "workers"


class Target(NamedTuple):
    port: int
    pid: int


class Call(NamedTuple):
    """`work` are requests that send `messages` each, or a pair. `against`: the name of the call whose ratio to this one
    is shown; "" for none. `fill`: what is sent before each turn. `times`: so many times as many messages as others."""

    name: str
    target: Target
    work: list[bytes] | Pair
    against: str = ""
    fill: Sequence[bytes] = ()
    messages: int = 1
    connections: int = CONNECTIONS
    times: int = 1


class Turn(NamedTuple):
    cpu_us: float
    per_s: float
    messages: int


async def turn_of(call: Call, *, messages: int, seconds: float) -> Turn:
    """So many messages, or as many as there are in the time."""
    await fill_for(call)
    connections = await connect(call.target.port, call.connections)
    end_s = time.perf_counter() + seconds
    each = call.times * messages // call.connections
    begun_s, used_s = time.perf_counter(), usage_of(call.target.pid).cpu_s
    if isinstance(call.work, Pair):
        loops = [_pairs(connection, call.work, each, end_s) for connection in connections]
    else:
        loops = [
            _sends(connection, call, at, max(1, each // call.messages), end_s)
            for at, connection in enumerate(connections)
        ]
    done = sum(await asyncio.gather(*loops))
    taken_s, used_s = time.perf_counter() - begun_s, usage_of(call.target.pid).cpu_s - used_s
    for connection in connections:
        connection.close()
    return Turn(1e6 * used_s / done, done / taken_s, done)


async def _sends(connection: HttpConnection, call: Call, at: int, each: int, end_s: float) -> int:
    requests = call.work
    assert not isinstance(requests, Pair)
    for number in range(each):
        answer = await connection.request(requests[(at + number) % len(requests)])
        assert answer.status in (200, 201), answer.body[:300]
        if time.perf_counter() > end_s:
            return (number + 1) * call.messages
    return each * call.messages


async def _pairs(connection: HttpConnection, pair: Pair, each: int, end_s: float) -> int:
    """Others may be faster: an empty answer ends it."""
    done = 0
    while done < each and time.perf_counter() < end_s:
        answer = await connection.request(pair.receive)
        assert answer.status == 200, answer.body[:300]
        request, count = pair.done(answer.body)
        if not count:
            break
        answer = await connection.request(request)
        assert answer.status in (200, 204), answer.body[:300]
        done += count
    return done


async def fill_for(call: Call) -> None:
    if not call.fill:
        return
    connections = await connect(call.target.port, FILLING_CONNECTIONS)

    async def some(connection: HttpConnection, requests: Sequence[bytes]) -> None:
        for request in requests:
            answer = await connection.request(request)
            assert answer.status in (200, 201), answer.body[:300]

    await asyncio.gather(
        *(some(connection, call.fill[at::FILLING_CONNECTIONS]) for at, connection in enumerate(connections))
    )
    for connection in connections:
        connection.close()


async def open_calls(target: Target, messages: int) -> list[Call]:
    """Of a server that asks nobody who they are."""
    [connection] = await connect(target.port, 1)
    sent, taken = await made_queue(connection, "sent"), await made_queue(connection, "taken")
    own = await made_queue(connection, "own")
    assert own.endswith("/own")
    connection.close()
    many = messages + CONNECTIONS * MESSAGES * 2
    single, pair = "POST /messages", "GET /messages, POST /ack of 10"
    return [
        Call(single, target, own_sends("own-sent")),
        Call("SendMessage, JSON", target, json_sends(sent), single),
        Call("SendMessage, query", target, query_sends(sent), single),
        Call(pair, target, own_pair("own", WORKERS), "", own_filling("own", many)),
        Call("ReceiveMessage, DeleteMessageBatch of 10", target, json_pair(taken), pair, own_filling("taken", many)),
    ]


def guarded_calls(server: ServerProcess) -> list[Call]:
    """Of one that asks for tokens."""
    headers = {"x-amz-target": "AmazonSQS.CreateQueue", "authorization": f"Bearer {BEARER}"}
    answer = server.request("POST", "/", {"QueueName": "sent"}, headers=headers)
    assert answer.status == 200, answer
    target, url = Target(server.port, server.pid), answer.document["QueueUrl"]
    single = "POST /messages, token"
    return [
        Call(single, target, own_sends("sent", f"authorization: Bearer {BEARER}")),
        Call("SendMessage, JSON, signed", target, signed_sends(url, time.time_ns() // 1_000_000), single),
    ]


async def other_calls(target: Target, messages: int) -> list[Call]:
    [connection] = await connect(target.port, 1)
    sent, taken = await made_queue(connection, "sent"), await made_queue(connection, "taken")
    connection.close()
    many = messages + CONNECTIONS * MESSAGES * 2
    return [
        Call("another server: SendMessage, JSON", target, json_sends(sent), "SendMessage, JSON"),
        Call(
            "another server: ReceiveMessage, DeleteMessageBatch of 10",
            target,
            json_pair(taken),
            "ReceiveMessage, DeleteMessageBatch of 10",
            filling(taken, many),
        ),
    ]


async def measure(directory: Path, other: Target | None, *, rounds: int, messages: int, seconds: float) -> None:
    tokens = directory / "tokens.json"
    entry = {"name": "bench", "token": BEARER, "roles": ["admin"], "accessKeys": [{"id": KEY_ID, "secret": SECRET}]}
    tokens.write_text(json.dumps({"tokens": [entry]}))
    tokens.chmod(0o600)
    unguarded = ServerProcess(directory / "open", directory / "open.log")
    guarded = ServerProcess(directory / "guarded", directory / "guarded.log", options=("--tokens-file", str(tokens)))
    try:
        unguarded.start()
        guarded.start()
        calls = await open_calls(Target(unguarded.port, unguarded.pid), messages)
        calls += guarded_calls(guarded)
        if other is not None:
            calls += await other_calls(other, messages)
        show(calls, await rounds_of(calls, rounds=rounds, messages=messages, seconds=seconds))
    finally:
        unguarded.kill()
        guarded.kill()


async def rounds_of(calls: Sequence[Call], *, rounds: int, messages: int, seconds: float) -> dict[str, list[Turn]]:
    """By the call's name."""
    for call in calls:
        await turn_of(call, messages=messages // 4, seconds=seconds)  # warms up
    found: dict[str, list[Turn]] = {call.name: [] for call in calls}
    for _ in range(rounds):
        for call in calls:
            found[call.name].append(await turn_of(call, messages=messages, seconds=seconds))
    return found


def show(calls: Sequence[Call], found: dict[str, list[Turn]]) -> None:
    table = Table("what", "CPU µs for each message", "ratio", "messages/s", "ratio")
    for call in calls:
        turns, others = found[call.name], found.get(call.against, [])
        cpu_ratios = [other.cpu_us / turn.cpu_us for turn, other in zip(turns, others, strict=bool(others))]
        rate_ratios = [turn.per_s / other.per_s for turn, other in zip(turns, others, strict=bool(others))]
        table.add_row(
            call.name,
            f"{statistics.median(turn.cpu_us for turn in turns):.1f}",
            f"{statistics.median(cpu_ratios):.2f}" if cpu_ratios else "",
            f"{statistics.median(turn.per_s for turn in turns):,.0f}",
            f"{statistics.median(rate_ratios):.2f}" if rate_ratios else "",
        )
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=16_000, help="of each turn, at most")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each turn, at most")
    parser.add_argument("--other-port", type=int, default=0, help="of another server that speaks SQS, without tokens")
    parser.add_argument("--other-pid", type=int, default=0, help="its process")
    options = parser.parse_args()
    other = Target(options.other_port, options.other_pid) if options.other_port else None
    with tempfile.TemporaryDirectory() as scratch:
        uvloop.run(
            measure(
                Path(scratch),
                other,
                rounds=options.rounds,
                messages=options.messages,
                seconds=options.seconds,
            )
        )


if __name__ == "__main__":
    main()
