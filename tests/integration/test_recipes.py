"""The recipes of docs/recipes, run from their pages against a real server: what they promise, kills included."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from acklog import Client
from acklog.messages import StoredMessage
from tests.support.recipe import Program, Recipe
from tests.support.server_process import Answer, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("recipes-shared-server")]

WAIT_SECONDS = 60


@pytest.fixture
def client(shared_server: ServerProcess) -> Iterator[Client]:
    with Client(shared_server.base_url) as client:
        yield client


def stored(client: Client, topic: str) -> list[StoredMessage]:
    """Everything in the topic's log, partition by partition."""
    found: list[StoredMessage] = []
    for partition in range(client.topics.get(topic).partitions):
        page = client.records(topic, partition, offset=0)
        while page.messages:
            found += page.messages
            page = client.records(topic, partition, offset=page.next_offset)
    return found


def count_stored(client: Client, topic: str) -> int:
    states = client.topics.get(topic).partition_states
    return sum(state.high_watermark or 0 for state in states)


def wait_until_stored(client: Client, topic: str, count: int) -> None:
    """Reads the topic as a group of its own, which waits at the server: the machine is left to what is tested."""
    wait_until(lambda: is_topic(client, topic), seconds=WAIT_SECONDS, what=f"the topic {topic}")
    group = f"watch-{topic}-{count}"
    seen = 0

    def has_seen_all() -> bool:
        nonlocal seen
        seen += len(client.receive(topic, group=group, max_messages=1000, wait_s=5, auto_ack=True))
        return seen >= count

    wait_until(has_seen_all, seconds=WAIT_SECONDS, what=f"{count} in {topic}")


def is_topic(client: Client, name: str) -> bool:
    return any(topic.name == name for topic in client.topics.list())


def wait_until_done(client: Client, group: str, topic: str) -> None:
    def is_done() -> bool:
        return client.groups.offsets(group, topic).lag == 0

    wait_until(is_done, seconds=WAIT_SECONDS, what=f"{group} is done with {topic}")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else can commit to the SQLite database meanwhile."""
    with closing(sqlite3.connect(path, timeout=30)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.rollback()


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, timeout=30)) as database:
        return list(database.execute(query))


# --- the outbox ------------------------------------------------------------------------------------------------------


def place_orders(backend: ServerProcess, numbers: range) -> list[Answer]:
    def place(number: int) -> Answer:
        order = {"id": f"o-{number}", "customer": f"c-{number % 7}", "cents": 100 + number}
        return backend.request("POST", "/orders", order)

    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(place, numbers))


def put_notes(database: Path) -> None:
    """Three events beside the orders. The one in the middle can never be sent."""
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        connection.executemany(
            "INSERT INTO outbox (dedup_id, topic, key, body) VALUES (?1, 'notes', ?1, ?2)",
            [("a", '"short"'), ("b", json.dumps("x" * 2_000_000)), ("c", '"short"')],
        )


def test_outbox_relay_is_killed_and_every_order_has_one_event(
    shared_server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    recipe = Recipe("outbox.md", tmp_path, shared_server.base_url)
    [make_topic] = recipe.commands
    recipe.shell(make_topic)
    assert client.topics.get("orders").config.dedup_window_ms == 3_600_000
    database = tmp_path / "shop.db"
    away = {"ACKLOG_URL": "http://127.0.0.1:1"}
    with (
        recipe.python("-m", "uvicorn", "outbox.backend:app", "--port", "0") as uvicorn,
        recipe.python("-m", "outbox.relay", environment=away) as relay,
    ):
        uvicorn.wait_for("Uvicorn running on")
        backend = ServerProcess(tmp_path, tmp_path / "no.log")  # for its requests: nothing is started
        backend.port = int(uvicorn.output.partition("http://127.0.0.1:")[2].split()[0])
        assert {answer.status for answer in place_orders(backend, range(30))} == {201}
        again = backend.request("POST", "/orders", {"id": "o-1", "customer": "c-1", "cents": 5})
        assert again.status == 409, "what is rolled back leaves no event"
        relay.wait_for("trying again: CANNOT_CONNECT")
        relay.kill()
        # Committed, nothing sent. Now another sends, and is killed before it can delete a row.
        with locked(database), recipe.python("-m", "outbox.relay") as relay:
            wait_until_stored(client, "orders", 30)
            relay.kill()
        assert rows(database, "SELECT count(*) FROM outbox") == [(30,)], "all were sent, none was deleted"
        put_notes(database)
        with recipe.python("-m", "outbox.relay"), recipe.python("-m", "outbox.relay") as relay:
            place_orders(backend, range(30, 60))
            wait_until_stored(client, "orders", 40)
            relay.kill()
            place_orders(backend, range(60, 80))
            wait_until(
                lambda: rows(database, "SELECT key, refusal IS NOT NULL FROM outbox") == [("b", True)],
                seconds=WAIT_SECONDS,
                what="an outbox with nothing but what is refused",
            )
    events = stored(client, "orders")
    assert sorted(event.body["id"] for event in events) == sorted(f"o-{number}" for number in range(80))
    assert {event.key == event.body["customer"] and "event" in event.headers for event in events} == {True}
    assert sorted(str(note.key) for note in stored(client, "notes")) == ["a", "c"]
    assert "MESSAGE_TOO_LARGE" in str(rows(database, "SELECT refusal FROM outbox"))


MEANWHILE = """
from sqlalchemy import create_engine, event
from outbox import tables
others = create_engine("sqlite:///shop.db")

@event.listens_for(tables.engine, "before_cursor_execute")
def create_first(connection, cursor, statement, *_):
    if "CREATE TABLE" in statement:
        tables.Base.metadata.create_all(others)

tables.create_tables()
"""


def test_outbox_tables_may_be_created_by_two_at_once(tmp_path: Path) -> None:
    """Backend and relay start together: the other one creates a table right after this one saw that there is none."""
    recipe = Recipe("outbox.md", tmp_path, "http://127.0.0.1:1")
    with recipe.python("-c", MEANWHILE) as program:
        assert program.process.wait(WAIT_SECONDS) == 0, program.output
    assert rows(tmp_path / "shop.db", "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") == [
        ("orders",),
        ("outbox",),
    ]


# --- the graceful worker ---------------------------------------------------------------------------------------------


def test_a_stopped_worker_finishes_its_work_and_gives_back_the_rest(
    shared_server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    recipe = Recipe("graceful-worker.md", tmp_path, shared_server.base_url)
    names = [f"image-{number}.jpg" for number in range(120)]
    client.topics.create("images")
    for name in names:
        client.send("images", {"image": name, "seconds": 0.05})
    with recipe.python("worker.py", folder="graceful_worker") as first:
        first.wait_for("made image-", times=12)
        assert first.terminate() == 0, first.output
    offsets = client.groups.offsets("thumbnails", "images")
    handled = made(first)
    assert 12 <= len(handled) < len(names), "it was stopped in the middle"
    assert sum(each.in_flight or 0 for each in offsets.offsets) == 0, "nothing waits for its visibility timeout"
    assert offsets.lag == len(names) - len(handled), "what was handled is acked, nothing else is"
    with recipe.python("worker.py", folder="graceful_worker") as second:
        wait_until_done(client, "thumbnails", "images")
        assert second.terminate() == 0, second.output
    assert sorted(handled + made(second)) == sorted(names)


def made(program: Program) -> list[str]:
    return re.findall(r"made (\S+)", program.output)


# --- dead letters ----------------------------------------------------------------------------------------------------


def test_dead_letters_are_found_repaired_and_sent_back(
    shared_server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    recipe = Recipe("dead-letters.md", tmp_path, shared_server.base_url)
    send, look, send_back = recipe.commands
    folder = "dead_letters"
    client.topics.create("invoices")
    with recipe.python("billing.py", folder=folder) as billing:
        recipe.shell(send, folder=folder)
        billing.wait_for("billed 1250 to DE-1 at attempt 1")
        wait_until_stored(client, "invoices.billing.dlq", 2)
        listed = recipe.shell(look, folder=folder)
        printed = recipe.page.partition("```console\n")[2].partition("```")[0]
        assert table_words(listed) == table_words(printed)
        [first_id] = [each.message_id for each in stored(client, "invoices") if each.key == "ben"]
        assert billing.output.count(f"the handler failed on message {first_id}") == 3

        printed = recipe.shell(send_back, folder=folder)
        assert f"{first_id} 3 attempts {{'customer': 'ben', 'cents': 300}}" in printed, "the id to look for in the log"
        assert "sent back as {'customer': 'anna', 'cents': 799}" in printed
        assert "1 for a person: acklog dlq show invoices.billing.dlq" in printed
        billing.wait_for("billed 799 to DE-1 at attempt 1")
        billing.wait_for("billed 300 to DE-2 at attempt 1")
        wait_until_done(client, "billing", "invoices")
        assert billing.terminate() == 0
    [topic] = json.loads(recipe.shell("acklog --json dlq list"))["topics"]
    assert (topic["letters"], topic["unhandled"]) == (2, 0)
    assert sorted(re.findall(r"billed ([0-9]+)", billing.output)) == ["1250", "300", "799"]


def table_words(text: str) -> list[list[str]]:
    """The lines in any order: letters come by the time at which they died. Without ids and times."""
    text = re.sub(r"m-[0-9a-z]+-", "m-", re.sub(r"[0-9]+ (?:ms|s|min) ago|\bnow\b", "ago", text))
    return sorted(line.split() for line in text.splitlines() if line)


# --- moving from SQS and from Celery ---------------------------------------------------------------------------------


def sqs(server: ServerProcess, call: str, **members: object) -> dict[str, object]:
    """A call as a client of SQS makes it."""
    answer = server.request("POST", "/", members, headers={"X-Amz-Target": f"AmazonSQS.{call}"})
    assert answer.status == 200, answer
    return dict(json.loads(answer.content))


def test_a_queue_of_sqs_is_worked_off_from_both_sides(
    shared_server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    recipe = Recipe("from-sqs.md", tmp_path, shared_server.base_url)
    url = sqs(shared_server, "CreateQueue", QueueName="emails")["QueueUrl"]
    people = [f"{number}@example.com" for number in range(25)] + ["flaky@example.com"]
    for person in people:
        body = json.dumps({"to": person})
        sqs(shared_server, "SendMessage", QueueUrl=url, MessageBody=body)
    # One of them is worked off as before, by a worker that was not moved.
    [received] = sqs(shared_server, "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)["Messages"]  # type: ignore[misc]
    person = json.loads(received["Body"])["to"]
    sqs(shared_server, "DeleteMessage", QueueUrl=url, ReceiptHandle=received["ReceiptHandle"])
    with recipe.python("-m", "from_sqs.consumer") as program:
        wait_until_done(client, "sqs.emails", "emails")
    left = Counter(people) - Counter([person])
    assert Counter(mailed(program)) == left
    assert ("mailed flaky@example.com at attempt 2" in program.output) == (person != "flaky@example.com")


def mailed(program: Program) -> list[str]:
    return re.findall(r"mailed (\S+)", program.output)


CALLER = """
from pathlib import Path
from from_celery.shop_tasks import add, charge, read_invoice, tasks
from from_celery.tasks import Pending, TaskFailedError
assert add(2, 3) == 5
invoice = read_invoice.delay("invoice.txt")
refused = charge.delay("order-8", cents=0)
lost = tasks.client.send(tasks.topic, {"task": "no-such-task", "arguments": [], "options": {}})
print(add.delay(2, 3).get(timeout_s=60), charge.delay("order-7", cents=1250).get(timeout_s=60))
Path("invoice.txt").write_text("12.50")
print(invoice.get(timeout_s=60))
for failed in (refused, Pending(tasks.client, tasks.results, lost.message_id)):
    try:
        failed.get(timeout_s=60)
    except TaskFailedError as error:
        print("failed:", error)
try:
    Pending(tasks.client, tasks.results, tasks.client.send("elsewhere", 1).message_id).get(timeout_s=0.2)
except TimeoutError as error:
    print("late:", error)
"""


def test_tasks_are_performed_retried_and_answered(shared_server: ServerProcess, client: Client, tmp_path: Path) -> None:
    recipe = Recipe("from-celery.md", tmp_path, shared_server.base_url)
    client.groups.create("workers", max_attempts=4, retry_backoff_min_ms=100, retry_backoff_max_ms=100)
    with recipe.python("-m", "from_celery.shop_tasks") as worker:
        wait_until(lambda: is_topic(client, "shop.tasks.results"), seconds=WAIT_SECONDS, what="the worker's topics")
        with recipe.python("-c", CALLER) as caller:
            assert caller.process.wait(WAIT_SECONDS) == 0, f"{caller.output}\n{worker.output}"
        snippet = recipe.page.partition("from anywhere:\n\n```python\n")[2].partition("```")[0]
        with recipe.python("-c", snippet) as reader:
            assert reader.process.wait(WAIT_SECONDS) == 0, reader.output
        assert reader.lines == ["5 order-7 is paid"]
        assert worker.terminate() == 0
    assert [line.partition(" after")[0] for line in caller.lines][:4] == [
        "5 order-7 is paid",
        "12.50",
        "failed: ValueError('order-8 costs 0')",
        "failed: KeyError('no-such-task')",
    ]
    assert caller.lines[4].startswith("late: task m-")
    wait_until_stored(client, "shop.tasks.workers.dlq", 2)
    assert count_stored(client, "shop.tasks.workers.dlq") == 2
