"""Three members: one is killed or stands still, and the store goes on with the others."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cluster.ports.coordination import Changed, CoordinationUnavailableError, OutcomeUnknownError, Put, absent
from cluster.ports.runtime import SteadyClock
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdCluster, EtcdProcess, running_cluster

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE_S = 30
KEYS_AFTER = 50


@pytest.fixture
def members(binary: Path) -> Iterator[EtcdCluster]:
    with running_cluster(binary, 3) as cluster:
        yield cluster


@pytest.mark.parametrize("fault", ["kill", "pause"])
async def test_the_leader_fails(members: EtcdCluster, make_store: StoreMaker, fault: str) -> None:
    """Writers of keys of their own, each guarded: what was acknowledged is there, what was refused is not, and a watch
    that began before sees every key once. A lease is kept alive all the while."""
    store, clock = make_store(*members.endpoints, request_timeout_ms=2_000, try_timeout_ms=500), SteadyClock()
    start = (await store.list("/")).revision + 1
    watch = store.watch("/k/", start)
    lease = await store.grant_lease(10_000)
    await store.transact([], [Put("/leased", b"", lease.lease_id)])
    outcomes: dict[str, str] = {}
    failed_at_ms = 0
    first_after_ms: int | None = None

    async def write(number: int) -> None:
        nonlocal first_after_ms
        key = f"/k/{number:05d}"
        began_ms = clock.monotonic_ms()
        try:
            result = await store.transact([absent(key)], [Put(key, b"")])
        except OutcomeUnknownError:
            outcomes[key] = "unknown"
        except CoordinationUnavailableError:
            outcomes[key] = "not done"
        else:
            assert result.succeeded
            outcomes[key] = "done"
            if failed_at_ms and began_ms > failed_at_ms and first_after_ms is None:
                first_after_ms = clock.monotonic_ms()

    async def write_until(stop: asyncio.Event, first: int) -> None:
        number = first
        while not stop.is_set():
            await write(number)
            number += 4

    async def enough(done: int) -> None:
        while list(outcomes.values()).count("done") < done:
            with suppress(CoordinationUnavailableError, OutcomeUnknownError):
                await store.keep_alive(lease.lease_id)
            await asyncio.sleep(0.05)

    stop = asyncio.Event()
    writers = [asyncio.ensure_future(write_until(stop, first)) for first in range(4)]
    try:
        await asyncio.wait_for(enough(20), PATIENCE_S)
        leader = await asyncio.to_thread(members.leader)
        failed_at_ms = clock.monotonic_ms()
        fail(leader, fault)
        await asyncio.wait_for(enough(list(outcomes.values()).count("done") + KEYS_AFTER), PATIENCE_S)
    finally:
        stop.set()
    await asyncio.wait_for(asyncio.gather(*writers), PATIENCE_S)
    assert first_after_ms is not None
    print(f"first write after the {fault}: {first_after_ms - failed_at_ms} ms")
    assert await store.get("/leased") is not None

    await store.transact([], [Put("/k/end", b"")])
    seen: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        while not seen or seen[-1] != "/k/end":
            seen += [event.item.key for event in (await watch.__anext__()).events if isinstance(event, Changed)]
    await watch.aclose()
    there = [item.key for item in (await store.list("/k/")).items]
    assert sorted(seen) == there, "each key once, none missing"
    for key, outcome in outcomes.items():
        assert outcome == "unknown" or (key in there) is (outcome == "done"), (key, outcome)


def fail(member: EtcdProcess, fault: str) -> None:
    if fault == "kill":
        member.kill()
    else:
        member.pause()


async def test_without_a_quorum_nothing_is_done_and_it_is_said(members: EtcdCluster, make_store: StoreMaker) -> None:
    """A member that knows of no leader refuses at once: that is better than unknown."""
    store = make_store(*members.endpoints, request_timeout_ms=1_000)
    await store.transact([], [Put("/a", b"1")])
    first, second, last = members.members
    for member in (first, second):
        member.kill()
    said: list[type[Exception]] = []
    async with asyncio.timeout(PATIENCE_S):
        while CoordinationUnavailableError not in said:
            try:
                await store.transact([absent("/b")], [Put("/b", b"")])
            except (OutcomeUnknownError, CoordinationUnavailableError) as error:
                said.append(type(error))
    for member in (first, second):
        members.launch(member)
    for member in members.members:
        await asyncio.to_thread(member.wait_until_serving)
    found = await store.get("/a")
    assert found is not None
    assert last.is_running
