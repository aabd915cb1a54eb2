"""Sends the flights of a file, as they are written to it, each once: `python source.py flights.ndjson`.

What was confirmed is committed, as a place in the file; whoever is started again sends from there. What was sent and
not confirmed, or confirmed and not committed, goes again under the name that it had, which is its place in the file: it
is stored once, if that is within the topic's `dedupWindowMs`. The producer's name ends whatever an earlier process of
this file still has on its way.
"""

import json
import logging
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from acklog import Client
from acklog.producer.producer import Producer

FLIGHTS = "flights"
LINES_MAX = 100
PAUSE_S = 0.05
SCHEMA = "CREATE TABLE IF NOT EXISTS sent (file TEXT PRIMARY KEY, place INTEGER NOT NULL)"
BEGIN = "INSERT INTO sent VALUES (?, 0) ON CONFLICT DO NOTHING"
ADVANCE = "UPDATE sent SET place = ? WHERE file = ?"


def whole_lines(file: BinaryIO, place: int) -> list[tuple[int, bytes]]:
    """The next ones behind `place`, each with where it begins. What has no end yet is still being written."""
    file.seek(place)
    found: list[tuple[int, bytes]] = []
    while len(found) < LINES_MAX and (line := file.readline()).endswith(b"\n"):
        found.append((place, line))
        place += len(line)
    return found


def send(producer: Producer, name: str, lines: list[tuple[int, bytes]]) -> None:
    """Returns when all are stored. Raises what kept one from it: then it is for the next process to try again."""
    deliveries = []
    for place, line in lines:
        flight = json.loads(line)
        deliveries.append(producer.send(flight, key=flight["flight"], dedup_id=f"{name}:{place}"))
    for delivery in deliveries:
        delivery.result()


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    path = Path(sys.argv[1])
    database_path = os.environ.get("SENT", "sent.db")
    with closing(sqlite3.connect(database_path, timeout=30)) as database, path.open("rb") as file, Client() as client:
        database.execute("PRAGMA journal_mode = WAL")  # whoever looks at the place need not wait for this process
        with database:
            database.execute(SCHEMA)
            database.execute(BEGIN, [path.name])
        [(place,)] = database.execute("SELECT place FROM sent WHERE file = ?", [path.name]).fetchall()
        with client.producer(FLIGHTS, name=f"source-{path.name}") as producer:
            logging.info("sending from %d on", place)
            while True:
                lines = whole_lines(file, place)
                if not lines:
                    time.sleep(PAUSE_S)
                    continue
                send(producer, path.name, lines)
                place = lines[-1][0] + len(lines[-1][1])
                with database:
                    database.execute(ADVANCE, [place, path.name])


if __name__ == "__main__":
    main()
