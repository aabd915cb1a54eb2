"""What a message costs in one process, and in several: `python -m loadtests.worker_costs` starts a server of each kind,
and lets the same client call them by turns.

Processor time is told by kind of process. What the storage process uses for a message says how many of them several
gateways can send it: it is one process, and they are as many as there are cores.
"""

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.table import Table

from loadtests.process_usage import usage_of
from loadtests.sqs_calls import MESSAGES, own_filling, own_pair, own_sends
from loadtests.sqs_costs import CONNECTIONS, WORKERS, Call, Target, fill_for, turn_of
from tests.support.server_process import ServerProcess
from tests.support.server_workers import pids


class Kind(NamedTuple):
    """The processes of one server by what they do."""

    name: str
    server: ServerProcess
    roles: dict[str, list[int]]


class Costs(NamedTuple):
    """Microseconds of processor time a message, by role."""

    by_role: dict[str, float]
    per_s: float


def calls_of(server: ServerProcess, messages: int) -> list[Call]:
    target = Target(server.port, server.pid)
    many = messages + 2 * CONNECTIONS * MESSAGES
    return [
        Call("single send", target, own_sends("sent")),
        Call("batch of 10", target, own_filling("sent", 1, each=10), messages=10),
        Call("receive and ack 10", target, own_pair("taken", WORKERS), fill=own_filling("taken", many)),
    ]


async def costs_of(kind: Kind, call: Call, *, messages: int, seconds: float) -> Costs:
    await fill_for(call)
    before = {role: _cpu_s(found) for role, found in kind.roles.items()}
    turn = await turn_of(call._replace(fill=()), messages=messages, seconds=seconds)
    used = {role: _cpu_s(found) - before[role] for role, found in kind.roles.items()}
    # Its own figure is of one process, whichever: only the number of messages is taken from it.
    done = turn.messages
    return Costs({role: 1e6 * used_s / done for role, used_s in used.items()}, turn.per_s)


def _cpu_s(found: Sequence[int]) -> float:
    return sum(usage_of(pid).cpu_s for pid in found)


def kinds_of(directory: Path, gateways: int) -> list[Kind]:
    one = ServerProcess(directory / "one", directory / "one.log")
    several = ServerProcess(directory / "many", directory / "many.log", options=("--workers", str(gateways)))
    one.start()
    several.start()
    roles = {
        "storage": pids(several, "storage"),
        "gateways": [pid for number in range(gateways) for pid in pids(several, f"gateway-{number + 1}")],
    }
    return [Kind("one process", one, {"all": [one.pid]}), Kind(f"{gateways} workers", several, roles)]


async def measure(directory: Path, *, gateways: int, rounds: int, messages: int, seconds: float) -> None:
    kinds = kinds_of(directory, gateways)
    try:
        calls = {kind.name: calls_of(kind.server, messages) for kind in kinds}
        found: dict[tuple[str, str], list[Costs]] = {}
        for _ in range(rounds):
            for position in range(len(calls[kinds[0].name])):
                for kind in kinds:
                    call = calls[kind.name][position]
                    costs = await costs_of(kind, call, messages=messages, seconds=seconds)
                    found.setdefault((call.name, kind.name), []).append(costs)
        show(found)
    finally:
        for kind in kinds:
            kind.server.kill()


def show(found: dict[tuple[str, str], list[Costs]]) -> None:
    table = Table("call", "server", "µs of processor a message, by kind of process", "messages/s")
    for (call, kind), rounds in found.items():
        roles = ", ".join(
            f"{role} {statistics.median(each.by_role[role] for each in rounds):.1f}" for role in rounds[0].by_role
        )
        table.add_row(call, kind, roles, f"{statistics.median(each.per_s for each in rounds):,.0f}")
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=20_000, help="of one turn, at most")
    parser.add_argument("--seconds", type=float, default=10, help="of one turn, at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        uvloop.run(
            measure(
                Path(directory),
                gateways=options.workers,
                rounds=options.rounds,
                messages=options.messages,
                seconds=options.seconds,
            )
        )


if __name__ == "__main__":
    main()
