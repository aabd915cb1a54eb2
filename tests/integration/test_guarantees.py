"""The reader of docs/guarantees.md, as it stands on the page, killed again and again."""

import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acklog import Client, OutgoingMessage
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

PAYMENTS = 3_000
KILLS = 5
WAIT_SECONDS = 60


def program() -> str:
    """In small pages, so that it is killed in the middle."""
    page = (REPOSITORY / "docs/guarantees.md").read_text()
    match = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1].replace("wait_s=20", "wait_s=20, max_bytes=1")


@contextmanager
def reader(file: Path, server: ServerProcess) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {"ACKLOG_URL": server.base_url, "SUMS": str(file), "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, "-c", program()], env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def position(file: Path) -> int:
    with closing(sqlite3.connect(file, timeout=30)) as database:
        try:
            rows = database.execute("SELECT next_offset FROM positions").fetchall()
        except sqlite3.OperationalError:  # it is not made yet
            return 0
    return int(rows[0][0]) if rows else 0


def test_a_reader_that_is_killed_counts_each_message_once(shared_server: ServerProcess, tmp_path: Path) -> None:
    file, chance = tmp_path / "sums.db", random.Random(3)
    with Client(shared_server.base_url) as client:
        client.topics.create("payments", partitions=1)
        for first in range(0, PAYMENTS, 100):
            batch = [OutgoingMessage({"cents": cents}) for cents in range(first, first + 100)]
            client.send_many("payments", batch)
        for _ in range(KILLS):
            with reader(file, shared_server) as process:
                reached = position(file) + chance.randrange(1, PAYMENTS // KILLS)
                wait_until(lambda: position(file) >= min(reached, PAYMENTS), seconds=WAIT_SECONDS, what="the reader")  # noqa: B023
                assert process.poll() is None
        with reader(file, shared_server), reader(file, shared_server):
            wait_until(lambda: position(file) == PAYMENTS, seconds=WAIT_SECONDS, what="the reader")
            client.send_many("payments", [OutgoingMessage({"cents": 1}) for _ in range(10)])
            wait_until(lambda: position(file) == PAYMENTS + 10, seconds=WAIT_SECONDS, what="the reader")
            wait_until(lambda: client.groups.offsets("sums").lag == 0, seconds=WAIT_SECONDS, what="the reader")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT cents FROM sums").fetchall() == [(sum(range(PAYMENTS)) + 10,)]
