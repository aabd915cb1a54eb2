"""What examples/flights_pipeline is to make of flights, and what it has made of them."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from acklog import AcklogError, Client
from examples.flights_pipeline.pipeline import FLIGHTS, GROUP, LATE, late_flight

CARRIERS = ("AA", "DL", "UA", "WN")
PARTITIONS = 4
DELAYS, SENT = "delays.db", "sent.db"


def flights(numbers: Iterable[int]) -> list[dict[str, Any]]:
    return [
        {"flight": f"{CARRIERS[number % 4]}{number}", "carrier": CARRIERS[number % 4], "delay": number * 7 % 40}
        for number in numbers
    ]


def late_flights(expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [late for each in expected if (late := late_flight(each)) is not None]


def totals_of(expected: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Flights and minutes of each carrier."""
    return {
        carrier: (len(delays), sum(delays))
        for carrier in CARRIERS
        if (delays := [each["delay"] for each in expected if each["carrier"] == carrier])
    }


def counted(directory: Path) -> dict[str, tuple[int, int]]:
    """What the database has: flights and minutes of each carrier."""
    rows = _rows(directory / DELAYS, "delays", "SELECT carrier, flights, minutes FROM delays")
    return {carrier: (count, minutes) for carrier, count, minutes in rows}


def flights_counted(directory: Path) -> int:
    return sum(count for count, _ in counted(directory).values())


def positions(directory: Path) -> dict[int, int]:
    """Where the database says that each partition is read on."""
    found = _rows(directory / DELAYS, "positions", "SELECT part, next_offset FROM positions")
    return dict(found)


def place_sent(directory: Path) -> int:
    """How much of the source's file is sent, in bytes."""
    return sum(place for (place,) in _rows(directory / SENT, "sent", "SELECT place FROM sent"))


def lines_sent(directory: Path, file: str) -> int:
    return (directory / file).read_bytes()[: place_sent(directory)].count(b"\n")


def contents(client: Client, topic: str) -> tuple[Counter[str], dict[int, int]]:
    """Each body in a topic, as JSON text, with how often it is there; and the offset behind the last message of each
    partition that has any."""
    found: Counter[str] = Counter()
    ends = {}
    for partition in range(client.topics.get(topic).partitions):
        page = client.records(topic, partition, offset=0)
        while page.messages:
            found.update(as_text(message.body) for message in page.messages)
            ends[partition] = page.messages[-1].offset + 1
            page = client.records(topic, partition, offset=page.next_offset)
    return found, ends


def as_text(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)


def is_done(client: Client) -> bool:
    try:
        offsets = client.groups.offsets(GROUP, FLIGHTS)
    except AcklogError:
        return False
    return len(offsets.offsets) == PARTITIONS and offsets.lag == 0


def faults_of(client: Client, directory: Path, expected: list[dict[str, Any]]) -> list[str]:
    """Everything in which what came out is not exactly what these flights are to become. All of it is done by now."""
    there, ends = contents(client, FLIGHTS)
    on, _ = contents(client, LATE)
    faults = []
    for topic, found, wanted in ((FLIGHTS, there, expected), (LATE, on, late_flights(expected))):
        right = Counter(map(as_text, wanted))
        different = (found - right).keys() | (right - found).keys()
        faults += [f"{topic}: {found[each]} times, not {right[each]}: {each}" for each in sorted(different)]
    if counted(directory) != totals_of(expected):
        faults.append(f"{counted(directory)} were counted, not {totals_of(expected)}")
    if positions(directory) != ends:
        faults.append(f"the database is at {positions(directory)}, the last messages are before {ends}")
    return faults


def _rows(path: Path, table: str, query: str) -> list[tuple[Any, ...]]:
    """Nothing where the table is not there yet."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30)) as database:
        if database.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", [table]).fetchone() == (0,):
            return []
        return database.execute(query).fetchall()
