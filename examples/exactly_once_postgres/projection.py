"""Keeps balances in PostgreSQL up to date with a topic's log: `python projection.py`. The positions are beside them."""

import asyncio
import os

import psycopg

from acklog import AsyncClient
from acklog.messages import RecordsPage
from acklog.positions import Position

TOPIC, GROUP = "transfers", "balances"
SCHEMA = """
CREATE TABLE IF NOT EXISTS balances (account TEXT PRIMARY KEY, cents BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS positions (partition_number INTEGER PRIMARY KEY, next_offset BIGINT NOT NULL, epoch INTEGER);
"""
SCHEMA_LOCK = "SELECT pg_advisory_xact_lock(hashtext('balances'))"
BEGIN = "INSERT INTO positions VALUES (%s, 0, NULL) ON CONFLICT DO NOTHING"
WHERE = "SELECT next_offset, epoch FROM positions WHERE partition_number = %s"
ADVANCE = "UPDATE positions SET next_offset = %s, epoch = %s WHERE partition_number = %s AND next_offset = %s"
BOOK = """
INSERT INTO balances (account, cents) VALUES (%(account)s, %(cents)s)
ON CONFLICT (account) DO UPDATE SET cents = balances.cents + excluded.cents
"""


async def connect() -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"], autocommit=True)


async def apply(database: psycopg.AsyncConnection, partition: int, page: RecordsPage) -> None:
    """All of the page and where to go on, or nothing. Raises RuntimeError when another process has done it already."""
    totals: dict[str, int] = {}
    for message in page.messages:
        totals[message.body["account"]] = totals.get(message.body["account"], 0) + message.body["cents"]
    async with database.transaction(), database.cursor() as cursor:
        await cursor.execute(ADVANCE, [page.next_offset, page.epoch, partition, page.offset])
        if cursor.rowcount != 1:
            raise RuntimeError(f"another process has moved partition {partition} on from offset {page.offset}")
        # In the order of the accounts: transactions of two partitions that lock the same rows never wait in a circle.
        await cursor.executemany(BOOK, [{"account": each, "cents": totals[each]} for each in sorted(totals)])


async def follow(client: AsyncClient, partition: int) -> None:
    async with await connect() as database:  # one each: a connection has one transaction at a time
        await database.execute(BEGIN, [partition])
        cursor = await database.execute(WHERE, [partition])
        [(offset, epoch)] = await cursor.fetchall()
        while True:
            page = await client.records(TOPIC, partition, offset=offset, epoch=epoch, wait_s=20)
            if page.messages:
                await apply(database, partition, page)
                offset, epoch = page.next_offset, page.epoch
                # Only to be seen, by `acklog lag` and by retention: the row decides, whether this gets through or not.
                await client.groups.commit(GROUP, [Position(TOPIC, partition, offset)])


async def main() -> None:
    async with await connect() as database, database.transaction():
        await database.execute(SCHEMA_LOCK)  # else two that begin at once make the same table
        await database.execute(SCHEMA)
    async with AsyncClient() as client, asyncio.TaskGroup() as followers:
        topic = await client.topics.ensure(TOPIC)
        await client.groups.ensure(GROUP)
        for partition in range(topic.partitions):
            followers.create_task(follow(client, partition))


if __name__ == "__main__":
    asyncio.run(main())
