"""Keeps balances up to date with a topic's log: `python projection.py`. No group: the offsets are in the database."""

import asyncio
import os
import sqlite3
from contextlib import closing

from acklog import AsyncClient
from acklog.messages import RecordsPage

TOPIC = "transfers"
SCHEMA = """
CREATE TABLE IF NOT EXISTS balances (account TEXT PRIMARY KEY, cents INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (partition_number INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL);
"""
BOOK = """
INSERT INTO balances (account, cents) VALUES (:account, :cents)
ON CONFLICT (account) DO UPDATE SET cents = cents + excluded.cents
"""
ADVANCE = "UPDATE offsets SET next_offset = ? WHERE partition_number = ? AND next_offset = ?"


def apply(database: sqlite3.Connection, partition: int, page: RecordsPage) -> None:
    """All of the page and where to go on, or nothing. Raises RuntimeError when another process has done it already."""
    with database:
        if database.execute(ADVANCE, [page.next_offset, partition, page.offset]).rowcount != 1:
            raise RuntimeError(f"another process has moved partition {partition} on from offset {page.offset}")
        database.executemany(BOOK, [message.body for message in page.messages])


async def follow(client: AsyncClient, database: sqlite3.Connection, partition: int) -> None:
    [offset] = database.execute("SELECT next_offset FROM offsets WHERE partition_number = ?", [partition]).fetchone()
    while True:
        page = await client.records(TOPIC, partition, offset=offset, wait_s=20)
        if page.messages:
            apply(database, partition, page)
            offset = page.next_offset


async def main() -> None:
    with closing(sqlite3.connect(os.environ.get("PROJECTION", "projection.db"), timeout=30)) as database:
        database.executescript(SCHEMA)
        async with AsyncClient() as client, asyncio.TaskGroup() as followers:
            topic = await client.topics.create(TOPIC)
            with database:
                rows = [[partition] for partition in range(topic.partitions)]
                database.executemany("INSERT INTO offsets VALUES (?, 0) ON CONFLICT DO NOTHING", rows)
            for partition in range(topic.partitions):
                followers.create_task(follow(client, database, partition))


if __name__ == "__main__":
    asyncio.run(main())
