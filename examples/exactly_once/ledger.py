"""Books transfers, each once: `python ledger.py`. What is processed is remembered in the transaction of its effect."""

import logging
import os
import sqlite3
from contextlib import closing

from acklog import Client
from acklog.messages import Message

SCHEMA = """
CREATE TABLE IF NOT EXISTS balances (account TEXT PRIMARY KEY, cents INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS processed (message_id TEXT PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
"""
REMEMBER = "INSERT INTO processed (message_id) VALUES (?) ON CONFLICT DO NOTHING"
BOOK = """
INSERT INTO balances (account, cents) VALUES (:account, :cents)
ON CONFLICT (account) DO UPDATE SET cents = cents + excluded.cents
"""


def connect() -> sqlite3.Connection:
    return sqlite3.connect(os.environ.get("LEDGER", "ledger.db"), timeout=30)


def book(message: Message) -> None:
    """The effect and the memory of it are committed together, and the message is acked after that. When it comes again
    because the ack did not get through, there is nothing left to do."""
    with closing(connect()) as database, database:  # the second commits, or rolls back
        if database.execute(REMEMBER, [message.message_id]).rowcount == 1:
            database.execute(BOOK, message.body)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with closing(connect()) as tables:
        tables.executescript(SCHEMA)
    with Client() as client:
        client.topics.create("transfers")
        client.consumer("transfers", group="ledger").run(book)
