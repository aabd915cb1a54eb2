"""The recipe docs/recipes/exactly-once-postgres.md: its process is killed wherever it stands."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from acklog import Client, OutgoingMessage
from tests.support.postgres import postgres
from tests.support.recipe import Program, Recipe
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("recipes-exactly-once-postgres")]

WAIT_SECONDS = 60
ACCOUNTS = ("anna", "ben", "cleo", "dora", "emil")
PARTITIONS = 3
TRANSFERS = 3_000
KILLS = 6


@pytest.fixture
def database_url() -> Iterator[str]:
    with postgres() as url:
        yield url


def send_transfers(client: Client, numbers: range) -> Counter[str]:
    """What each account gets by them. Every account is in every partition."""
    messages = [
        OutgoingMessage({"account": ACCOUNTS[number % 5], "cents": number}, partition=number % PARTITIONS)
        for number in numbers
    ]
    client.send_many("transfers", messages)
    return sum((Counter({ACCOUNTS[number % 5]: number}) for number in numbers), Counter[str]())


class Books:
    """What is in the database."""

    def __init__(self, url: str) -> None:
        self._url = url

    def balances(self) -> dict[str, int]:
        with psycopg.connect(self._url) as database:
            try:
                return dict(database.execute("SELECT account, cents FROM balances").fetchall())
            except psycopg.errors.UndefinedTable:
                return {}

    def applied(self) -> int:
        """How many messages."""
        with psycopg.connect(self._url) as database:
            try:
                [(count,)] = database.execute("SELECT coalesce(sum(next_offset), 0) FROM positions").fetchall()
            except psycopg.errors.UndefinedTable:
                return 0
        return int(count)

    def waiting_transactions(self) -> int:
        """Of others, that have written something and wait for a lock."""
        with psycopg.connect(self._url) as database:
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_xid IS NOT NULL"
            [(count,)] = database.execute(waits).fetchall()
        return int(count)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else can book meanwhile."""
        with psycopg.connect(self._url) as database:
            database.execute("LOCK TABLE balances")
            yield
            database.rollback()


def wait_for(books: Books, totals: Counter[str]) -> None:
    wait_until(lambda: books.balances() == totals, seconds=WAIT_SECONDS, what=f"{dict(totals)} in the database")


def test_a_consumer_killed_wherever_it_stands_applies_each_message_once(database_url: str, tmp_path: Path) -> None:
    books, chance = Books(database_url), random.Random(7)
    with ServerProcess(tmp_path / "data", tmp_path / "server.log") as server, Client(server.base_url) as client:
        recipe = Recipe("exactly-once-postgres.md", tmp_path, server.base_url)
        slow = tmp_path / "exactly_once_postgres" / "projection.py"
        # In small pages, so that it is killed in the middle.
        slow.write_text(slow.read_text().replace("wait_s=20", "wait_s=20, max_bytes=1"))

        @contextmanager
        def consumer() -> Iterator[Program]:
            with recipe.python(
                "projection.py", folder="exactly_once_postgres", environment={"DATABASE_URL": database_url}
            ) as it:
                yield it

        client.topics.create("transfers", PARTITIONS)
        totals = sum((send_transfers(client, range(at, at + 30)) for at in range(0, TRANSFERS, 30)), Counter[str]())
        for _ in range(KILLS):
            with consumer() as program:
                enough = books.applied() + chance.randrange(1, TRANSFERS // KILLS)
                wait_until(lambda: books.applied() >= enough, seconds=WAIT_SECONDS, what="some pages")  # noqa: B023
                assert program.process.poll() is None, program.output
        with consumer() as program:
            wait_for(books, totals)
            # It stands in its transactions, the positions moved and nothing booked. So it is killed.
            with books.locked():
                totals += send_transfers(client, range(TRANSFERS, TRANSFERS + 30))
                wait_until(books.waiting_transactions, seconds=WAIT_SECONDS, what="its transactions")
                program.kill()
        assert books.applied() == TRANSFERS
        with consumer():
            wait_for(books, totals)
            group_shows_all = lambda: client.groups.offsets("balances").lag == 0  # noqa: E731
            wait_until(group_shows_all, seconds=WAIT_SECONDS, what="the group")
        with ExitStack() as both:
            first, second = (both.enter_context(consumer()) for _ in range(2))
            # Each page is applied by one of them; the other finds the position moved, and ends.
            at = TRANSFERS + 30
            while first.process.poll() is None and second.process.poll() is None:
                totals += send_transfers(client, range(at, at + 3))
                at += 3
                wait_until(
                    lambda: books.applied() == at or None not in (first.process.poll(), second.process.poll()),  # noqa: B023
                    seconds=WAIT_SECONDS,
                    what="somebody to apply it",
                )
        assert "another process has moved partition" in first.output + second.output
        with consumer():
            wait_for(books, totals)
        assert books.applied() == at
