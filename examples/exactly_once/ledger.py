"""Books transfers, each once: `python ledger.py`. What is processed is remembered in the transaction of its effect."""

import logging
import os
import sqlite3
import threading
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
    """One for all threads of the process: locks of SQLite's are a process's, and a connection that one thread closes
    can take along the lock under which another one writes."""
    return sqlite3.connect(os.environ.get("LEDGER", "ledger.db"), timeout=30, check_same_thread=False)


def book(database: sqlite3.Connection, turn: threading.Lock, message: Message) -> None:
    """The effect and the memory of it are committed together, and the message is acked after that. When it comes again
    because the ack did not get through, there is nothing left to do."""
    with turn, database:  # the second commits, or rolls back
        if database.execute(REMEMBER, [message.message_id]).rowcount == 1:
            database.execute(BOOK, message.body)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    turn = threading.Lock()
    with closing(connect()) as database, Client() as client:
        database.executescript(SCHEMA)
        client.topics.create("transfers")
        client.consumer("transfers", group="ledger").run(lambda message: book(database, turn, message), concurrency=4)
