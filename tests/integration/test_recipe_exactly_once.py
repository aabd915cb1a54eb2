"""The recipe docs/recipes/exactly-once.md: processes and the server are killed between an effect and its ack."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from acklog import Client, OutgoingMessage
from tests.support.recipe import Program, Recipe
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("recipes-exactly-once")]

WAIT_SECONDS = 60
ACCOUNTS = ("anna", "ben", "cleo")


def send_transfers(client: Client, numbers: range) -> Counter[str]:
    """What each account gets by them."""
    client.topics.create("transfers", 3)
    transfers = [(ACCOUNTS[number % 3], number) for number in numbers]
    messages = [OutgoingMessage({"account": account, "cents": cents}, key=account) for account, cents in transfers]
    client.send_many("transfers", messages)
    totals: Counter[str] = Counter()
    for account, cents in transfers:
        totals[account] += cents
    return totals


def balances(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path, timeout=30)) as database:
        is_made = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'balances'").fetchone() == (1,)
        return dict(database.execute("SELECT account, cents FROM balances")) if is_made else {}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else can commit to the database meanwhile."""
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def wait_for_balances(path: Path, totals: Counter[str]) -> None:
    wait_until(lambda: balances(path) == totals, seconds=WAIT_SECONDS, what=f"{dict(totals)} in {path.name}")


def test_a_worker_killed_between_effect_and_ack_books_once(tmp_path: Path) -> None:
    ledger = tmp_path / "exactly_once" / "ledger.db"
    with ServerProcess(tmp_path / "data", tmp_path / "server.log") as server:
        recipe = Recipe("exactly-once.md", tmp_path, server.base_url)
        with Client(server.base_url) as client:
            totals = send_transfers(client, range(1, 2))
            with recipe.python("ledger.py", folder="exactly_once") as worker:
                wait_for_balances(ledger, totals)
                wait_until(lambda: client.groups.offsets("ledger").lag == 0, seconds=WAIT_SECONDS, what="the ack")
                # It has the next one and cannot commit. The server dies, then it commits: the ack gets nowhere.
                with locked(ledger):
                    totals += send_transfers(client, range(2, 3))
                    wait_until(lambda: is_leased(client), seconds=WAIT_SECONDS, what="the lease")
                    # Answered behind the delivery, which is on its way to the worker then.
                    client.send("markers", "a later write")
                    server.kill()
                wait_for_balances(ledger, totals)
                worker.kill()
        server.start()
        recipe.url = server.base_url
        with Client(server.base_url) as client:
            [waiting] = [each for each in client.groups.offsets("ledger").offsets if each.lag]
            assert waiting.lag == 1, "the server does not know that it was booked"
            totals += send_transfers(client, range(3, 100))
            with recipe.python("ledger.py", folder="exactly_once"):
                wait_until(lambda: client.groups.offsets("ledger").lag == 0, seconds=WAIT_SECONDS, what="all acks")
                assert balances(ledger) == totals
                # A replay of everything: delivered again, booked not.
                client.groups.seek("ledger", "transfers", to_earliest=True)
                wait_until(lambda: client.groups.offsets("ledger").lag == 0, seconds=WAIT_SECONDS, what="all acks")
            assert balances(ledger) == totals
            check_projection(client, recipe, totals)


def is_leased(client: Client) -> bool:
    return any(each.in_flight for each in client.groups.offsets("ledger").offsets)


def is_running(program: Program) -> bool:
    return program.process.poll() is None


def check_projection(client: Client, recipe: Recipe, totals: Counter[str]) -> None:
    """Killed before it could commit and after it has; two at a time; and the sums are right."""
    projection = recipe.directory / "exactly_once" / "projection.db"
    with recipe.python("projection.py", folder="exactly_once") as first:
        wait_for_balances(projection, totals)
        with locked(projection):
            totals = totals + send_transfers(client, range(100, 200))
            first.kill()
    with ExitStack() as programs:
        second, third = both = [
            programs.enter_context(recipe.python("projection.py", folder="exactly_once")) for _ in range(2)
        ]

        # Once both follow, each page is applied by one of them; the other finds the offset moved, and ends. Both may
        # end, each over a partition that the other has moved: then nobody applies the rest.
        def is_applied_or_both_ended() -> bool:
            return balances(projection) == totals or not any(map(is_running, both))

        while all(map(is_running, both)):
            totals = totals + send_transfers(client, range(200, 203))
            wait_until(is_applied_or_both_ended, seconds=WAIT_SECONDS, what="somebody applies it, or nobody is left")
        assert "another process has moved partition" in second.output + third.output
        second.kill()
        third.kill()
        programs.enter_context(recipe.python("projection.py", folder="exactly_once"))
        totals = totals + send_transfers(client, range(300, 400))
        wait_for_balances(projection, totals)
