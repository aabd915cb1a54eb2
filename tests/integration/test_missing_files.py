"""Every file of a data directory, one after the other: deleted, cut short, its end zeroed; after a kill and after an
orderly stop. Either a start says so, or it is harmless: nothing acknowledged is lost, no offset is given out again, and
nothing that was done comes back (rule R34)."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog

from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError
from storage.log.data_directory import DataDirectoryError
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from tests.support.server_in_process import ServerInProcess, served

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

PARTITIONS = 2
MESSAGES = 24
RECEIVE = "/messages?queue=orders&group=workers"
SETTINGS = NodeSettings(
    log_store=LogStoreSettings(
        journal_file_bytes=64 * 4096, round_bytes_max=32 * 4096, reserve_bytes=0, sync_interval_ms=3_600_000
    ),
    delivery_snapshot_bytes=600,
    delivery_segment_bytes=300,
)


@dataclass
class Acknowledged:
    """What clients were told. `sent` has the bodies of each partition, by offset."""

    sent: dict[int, list[str]] = field(default_factory=lambda: {number: [] for number in range(PARTITIONS)})
    done: set[str] = field(default_factory=set)


async def send(server: ServerInProcess, told: Acknowledged, partition: int, count: int) -> None:
    for _ in range(count):
        body = f"message {len(told.sent[partition])} of {partition}"
        status, answer = await server.request(
            "POST", "/messages", {"queue": "orders", "body": body, "partition": partition}
        )
        assert (status, answer["offset"]) == (201, len(told.sent[partition]))
        told.sent[partition].append(body)


async def work_off(server: ServerInProcess, told: Acknowledged, count: int) -> None:
    status, answer = await server.request("GET", f"{RECEIVE}&max={count}&visibilitySeconds=1")
    assert status == 200
    for message in answer["messages"]:
        status, _ = await server.request("POST", "/ack", {"receipt": message["receipt"]})
        assert status == 200
        told.done.add(message["body"])


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Acknowledged]:
    """(after a kill, after an orderly stop, what clients were told)."""
    root = tmp_path_factory.mktemp("missing")
    told = Acknowledged()

    async def main() -> None:
        async with served(root / "stopped", SETTINGS) as server:
            status, _ = await server.request("PUT", "/topics/orders", {"partitions": PARTITIONS})
            assert status == 201
            for number in range(PARTITIONS):
                await send(server, told, number, MESSAGES // 2)
            for _ in range(8):
                await work_off(server, told, 2)
            await server.embedded.node.logs.sync()
            for number in range(PARTITIONS):
                await send(server, told, number, MESSAGES // 2)
            await work_off(server, told, 5)
            server.killed_copy(root / "killed")

    asyncio.run(main())
    assert list((root / "killed").glob("partitions/*/delivery/snapshot")), "there should be something to lose"
    return root / "killed", root / "stopped", told


def delete(path: Path) -> None:
    path.unlink()


def halve(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zero_the_end(path: Path) -> None:
    """Of what is in it, its second half."""
    content = path.read_bytes()
    kept = len(content.rstrip(b"\0")) // 2
    path.write_bytes(content[:kept] + bytes(len(content) - kept))


async def outcome_of(directory: Path, told: Acknowledged) -> str:
    """Hold a server on it to what clients were told. Fails where it says nothing and has lost something."""
    try:
        async with served(directory, SETTINGS) as server:
            if server.embedded.node.failure is not None:
                return "not served"
            said = [await judge_partition(server, told, number) for number in range(PARTITIONS)]
            return await judge_delivery(server, told, "said" if "said" in said else "harmless")
    except (DataDirectoryError, CoordinationError, ServerError):
        return "refused"


async def judge_partition(server: ServerInProcess, told: Acknowledged, number: int) -> str:
    expected = told.sent[number]
    said = "harmless"
    offset = 0
    while offset < len(expected):
        target = f"/topics/orders/partitions/{number}/records?offset={offset}"
        status, answer = await server.request("GET", target)
        if status != 200:
            assert answer["code"] == "RECORDS_CORRUPT", answer
            said = "said"
            offset += 1
            continue
        assert answer["records"], f"{number} ends at {offset}, {len(expected)} were acknowledged"
        for record in answer["records"]:
            assert record["body"] == expected[record["offset"]]
            offset = record["offset"] + 1
    status, answer = await server.request("POST", "/messages", {"queue": "orders", "body": "new", "partition": number})
    if status == 201:
        assert answer["offset"] >= len(expected), f"offset {answer['offset']} is given out again"
        return said
    assert answer["code"] == "RECORDS_CORRUPT", answer
    return "said"


async def judge_delivery(server: ServerInProcess, told: Acknowledged, said: str) -> str:
    """What was done stays done, unless something was said; and of the rest everything comes."""
    wanted = {body for bodies in told.sent.values() for body in bodies} - told.done
    seen: set[str] = set()
    for _ in range(2 * MESSAGES * PARTITIONS):
        status, answer = await server.request("GET", f"{RECEIVE}&max=100&visibilitySeconds=60")
        if status != 200:
            assert answer["code"] == "RECORDS_CORRUPT", answer
            return "said"
        if not answer["messages"]:
            break
        seen |= {message["body"] for message in answer["messages"]}
    assert not seen & told.done, "what was done comes back"
    if said == "harmless":
        assert wanted <= seen, "messages that were not done do not come"
    return said


@pytest.fixture
def quiet() -> Iterator[None]:
    structlog.configure(processors=[_drop])
    yield
    structlog.reset_defaults()


def _drop(*_: object) -> str:
    raise structlog.DropEvent


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("damage", [delete, halve, empty, zero_the_end])
@pytest.mark.parametrize("ending", ["killed", "stopped"])
def test_what_is_missing_is_said_or_harmless(
    directories: tuple[Path, Path, Acknowledged], tmp_path: Path, ending: str, damage: Callable[[Path], None]
) -> None:
    killed, stopped, told = directories
    source = killed if ending == "killed" else stopped
    outcomes: dict[str, str] = {}
    for path in sorted(each.relative_to(source) for each in source.rglob("*") if each.is_file()):
        copy = Path(shutil.copytree(source, tmp_path / "copy"))
        damage(copy / path)
        try:
            outcomes[str(path)] = asyncio.run(outcome_of(copy, told))
        except AssertionError as error:
            raise AssertionError(f"{damage.__name__} of {path} after it was {ending}: {error}") from error
        shutil.rmtree(copy)
    counts = Counter(outcomes.values())
    assert counts["harmless"] > 0, outcomes
    assert counts["refused"] + counts["not served"] > 1, outcomes
