"""Finds late flights: `python pipeline.py`, as often as there are processors. Each flight counts once, whatever dies.

Three things happen for a flight, in this order: what is late is sent on, under a name that a second try has, too; the
count and the position are committed, in one transaction; the message is acked. Who dies between two of them is followed
by somebody who gets the message again, sends under the same name, and finds the position moved.

All threads of a process share one connection, in turn. With one for each message, SQLite's locks cannot be relied on:
they are the process's, and a connection that one thread closes can take along the lock under which another one writes
(https://www.sqlite.org/howtocorrupt.html, "closing the file descriptors").
"""

import logging
import os
import sqlite3
import threading
from contextlib import closing
from typing import Any

from acklog import Client
from acklog.messages import Message

FLIGHTS, LATE, GROUP = "flights", "late-flights", "pipeline"
LATE_MINUTES = 15
SCHEMA = """
CREATE TABLE IF NOT EXISTS delays (carrier TEXT PRIMARY KEY, flights INTEGER NOT NULL, minutes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS positions (topic TEXT, part INTEGER, next_offset INTEGER NOT NULL,
                                      PRIMARY KEY (topic, part));
"""
COUNT = """
INSERT INTO delays VALUES (:carrier, 1, :delay)
ON CONFLICT (carrier) DO UPDATE SET flights = flights + 1, minutes = minutes + excluded.minutes
"""
ADVANCE = """
INSERT INTO positions VALUES (:topic, :part, :offset + 1)
ON CONFLICT (topic, part) DO UPDATE SET next_offset = excluded.next_offset WHERE next_offset <= :offset
"""


def connect() -> sqlite3.Connection:
    return sqlite3.connect(os.environ.get("DELAYS", "delays.db"), timeout=30, check_same_thread=False)


def late_flight(flight: dict[str, Any]) -> dict[str, Any] | None:
    """What is sent on; None for a flight that was on time."""
    if flight["delay"] <= LATE_MINUTES:
        return None
    return {"flight": flight["flight"], "late": flight["delay"]}


def handle(client: Client, database: sqlite3.Connection, turn: threading.Lock, message: Message) -> None:
    flight = message.body
    late = late_flight(flight)
    if late is not None:
        client.send(LATE, late, key=flight["carrier"], dedup_id=message.message_id)
    place = {"topic": message.topic, "part": message.partition, "offset": message.offset}
    with turn, database:  # the second commits, or rolls back
        if database.execute(ADVANCE, place).rowcount == 1:  # else it was done before, and its ack was lost
            database.execute(COUNT, flight)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    turn = threading.Lock()
    with closing(connect()) as database, Client() as client:
        database.executescript(SCHEMA)
        client.topics.ensure(LATE)
        consumer = client.consumer(
            FLIGHTS,
            group=GROUP,
            mode="exclusive",
            session_timeout_s=float(os.environ.get("SESSION_TIMEOUT_S", "15")),
            on_assigned=lambda partitions: logging.info("reading %s", partitions),
            on_revoked=lambda partitions: logging.info("no longer reading %s", partitions),
        )
        consumer.run(lambda message: handle(client, database, turn, message), concurrency=4)


if __name__ == "__main__":
    main()
