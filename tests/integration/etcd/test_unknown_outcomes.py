"""A call that was cancelled, or cut off, may have been done, and may be done later (rule R18)."""

import asyncio

import pytest
import uvloop

from cluster.ports.coordination import (
    Compare,
    CompareTarget,
    CoordinationUnavailableError,
    OutcomeUnknownError,
    Put,
    absent,
    unchanged,
)
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdProcess
from tests.support.etcd_store import etcd_store
from tests.support.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

PUTS = 500


async def test_a_cancelled_put_never_happens_behind_its_guard(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    """Each of many cancelled puts compares a fence. Some were done all the same, which is why each counts as unknown;
    once the fence is moved, none is done any more, so what is read then stays."""
    store = make_store(etcd.endpoint)
    await store.transact([], [Put("/fence", b"")])
    fence = await store.get("/fence")
    assert fence is not None
    tasks = []
    for number in range(PUTS):
        key = f"/k/{number:04d}"
        tasks.append(asyncio.ensure_future(store.transact([unchanged(fence), absent(key)], [Put(key, b"")])))
        if number % 10 == 9:
            await asyncio.sleep(0.001)  # let them set out
            for task in tasks[-10:]:
                task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    cancelled = [f"/k/{number:04d}" for number in range(PUTS) if isinstance(outcomes[number], asyncio.CancelledError)]
    assert len(cancelled) > PUTS // 2
    assert (await store.transact([unchanged(fence)], [Put("/fence", b"")])).succeeded
    there = (await store.list("/k/")).items
    assert any(item.key in cancelled for item in there), "a cancelled put that was done: the reason for all this"
    for _ in range(20):
        await store.transact([], [Put("/noise", b"")])
    assert (await store.list("/k/")).items == there
    assert (await store.get("/fence")) is not None


async def test_a_cut_connection_leaves_each_write_done_refused_or_unknown(
    etcd: EtcdProcess, make_store: StoreMaker
) -> None:
    near = make_store(etcd.endpoint)
    outcomes: dict[str, str] = {}
    async with TcpProxy(etcd.client_port) as proxy:
        far = make_store(proxy.endpoint, request_timeout_ms=1_000)
        await far.get("/a")

        async def write(key: str) -> None:
            try:
                await far.transact([absent(key)], [Put(key, b"")])
            except OutcomeUnknownError:
                outcomes[key] = "unknown"
            except CoordinationUnavailableError:
                outcomes[key] = "not done"
            else:
                outcomes[key] = "done"

        for round_number in range(10):
            writes = [asyncio.ensure_future(write(f"/k/{round_number}/{number}")) for number in range(20)]
            await asyncio.sleep(0.002)
            proxy.cut()
            await asyncio.sleep(0.02)
            proxy.mend()
            await asyncio.gather(*writes)
    await near.transact([], [Put("/fence", b"")])
    there = {item.key for item in (await near.list("/k/")).items}
    assert set(outcomes.values()) >= {"done", "unknown"}
    for key, outcome in outcomes.items():
        assert outcome == "unknown" or (key in there) is (outcome == "done"), (key, outcome)


def test_it_works_on_the_event_loop_of_the_server(etcd: EtcdProcess) -> None:
    async def use() -> None:
        store = etcd_store(etcd.endpoint)
        start = (await store.list("/")).revision + 1
        watch = store.watch("/", start)
        await asyncio.gather(*(store.transact([], [Put(f"/{number}", b"")]) for number in range(100)))
        assert [(await watch.__anext__()).revision for _ in range(100)] == list(range(start, start + 100))
        lease = await store.grant_lease(5_000)
        await store.keep_alive(lease.lease_id)
        assert (await store.transact([Compare("/0", CompareTarget.VERSION, 1)], [])).succeeded
        await store.close()

    uvloop.run(use())
