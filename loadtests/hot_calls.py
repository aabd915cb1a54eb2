"""What the calls that matter cost beside another version: `python -m loadtests.hot_calls --against CHECKOUT` starts a
server of this checkout and one of the other, and lets the same client call them by turns.

As in `loadtests.sqs_costs` the server's own processor time for each message counts; `ratio` is the median of the
rounds' ratios of it, the other version's to this one's. The other checkout needs no environment of its own.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

import uvloop

from loadtests.http_connection import connect
from loadtests.sqs_calls import MESSAGES, filling, json_pair, made_queue, own_filling, own_pair, own_sends
from loadtests.sqs_costs import CONNECTIONS, WORKERS, Call, Target, rounds_of, show
from tests.support.server_process import REPOSITORY, ServerProcess

LARGE = 1_000
"""Messages of a large batch, receive and ack."""
TIMES = 10
"""So much less a message costs there: a process's time is told in hundredths of a second."""


class Side(NamedTuple):
    """`label` goes behind each call's name."""

    label: str
    server: ServerProcess


async def calls_of(side: Side, messages: int, against: str) -> list[Call]:
    """`against`: the label of the other side; "" for none."""
    target = Target(side.server.port, side.server.pid)
    [connection] = await connect(target.port, 1)
    sent, taken = await made_queue(connection, "sent"), await made_queue(connection, "taken")
    connection.close()
    many = messages + 2 * CONNECTIONS * MESSAGES + 8 * LARGE

    calls = [
        Call("single send", target, own_sends("own-sent")),
        Call("batch of 10", target, own_filling("own-sent", 1, each=10), messages=10),
        Call(f"batch of {LARGE:,}", target, own_filling("own-sent", 1), messages=LARGE, connections=4, times=TIMES),
        Call("receive and ack 10", target, own_pair("own", WORKERS), fill=own_filling("own", many)),
        Call(
            f"receive and ack {LARGE:,}",
            target,
            own_pair("large", WORKERS, messages=LARGE),
            fill=own_filling("large", TIMES * many),
            connections=4,
            times=TIMES,
        ),
        Call("SQS: batch of 10", target, filling(sent, 1), messages=10),
        Call("SQS: receive and delete 10", target, json_pair(taken), fill=own_filling("taken", many)),
    ]
    return [
        call._replace(name=f"{call.name}{side.label}", against=f"{call.name}{against}" if against else "")
        for call in calls
    ]


async def measure(directory: Path, other: Path, *, rounds: int, messages: int, seconds: float) -> None:
    sides = [
        Side(", other", ServerProcess(directory / "other", directory / "other.log", source=other)),
        Side("", ServerProcess(directory / "own", directory / "own.log", source=REPOSITORY)),
    ]
    try:
        for side in sides:
            await asyncio.to_thread(side.server.start)
        before = await calls_of(sides[0], messages, "")
        after = await calls_of(sides[1], messages, sides[0].label)
        calls = [call for pair in zip(before, after, strict=True) for call in pair]
        show(calls, await rounds_of(calls, rounds=rounds, messages=messages, seconds=seconds))
    finally:
        for side in sides:
            side.server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, required=True, help="a checkout of the version to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=16_000, help="of each turn, at most")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each turn, at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        uvloop.run(
            measure(
                Path(scratch),
                options.against.resolve(),
                rounds=options.rounds,
                messages=options.messages,
                seconds=options.seconds,
            )
        )


if __name__ == "__main__":
    main()
