"""A lease ends here before it ends in etcd, also where etcd or we ourselves stand still (rule R16)."""

import asyncio

import pytest

from cluster.life.registration import NodeRegistrar
from cluster.life.registration_settings import RegistrationSettings
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import LeaseLostError, Put
from cluster.ports.runtime import SteadyClock
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdProcess

pytestmark = pytest.mark.integration

PATIENCE_S = 30


async def test_a_lease_is_lost_in_time_while_etcd_stands_still(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    store, clock = make_store(etcd.endpoint), SteadyClock()
    lease = await store.grant_lease(2_000)
    asked_at_ms = clock.monotonic_ms()
    await store.keep_alive(lease.lease_id)
    etcd.pause()
    try:
        with pytest.raises(LeaseLostError):
            await asyncio.wait_for(store.keep_alive(lease.lease_id), PATIENCE_S)
        assert clock.monotonic_ms() - asked_at_ms < lease.ttl_ms
    finally:
        etcd.resume()
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)


async def test_a_registration_is_lost_in_time_and_comes_back(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    store, clock = make_store(etcd.endpoint, request_timeout_ms=1_000), SteadyClock()
    settings = RegistrationSettings(ttl_ms=3_000, margin_ms=1_000, keep_alive_interval_ms=500)
    changes: list[tuple[bool, int]] = []
    changed = asyncio.Event()

    def note(is_registered: bool) -> None:
        changes.append((is_registered, clock.monotonic_ms()))
        changed.set()

    async def next_change() -> tuple[bool, int]:
        await asyncio.wait_for(changed.wait(), PATIENCE_S)
        changed.clear()
        return changes[-1]

    registration = NodeRegistration(node_id=1, incarnation=1, address="127.0.0.1:1", directory_id="d")
    registrar = NodeRegistrar(store, registration, clock=clock, on_change=note, settings=settings)
    await registrar.start()
    assert (await next_change())[0]
    etcd.pause()
    paused_at_ms = clock.monotonic_ms()
    is_registered, lost_at_ms = await next_change()
    assert not is_registered
    assert lost_at_ms - paused_at_ms < settings.ttl_ms - settings.margin_ms + 500
    etcd.resume()
    assert (await next_change())[0], "a new lease, after the old one"
    await registrar.close()


async def test_a_process_that_stood_still_knows_it_at_once(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    """The event loop is blocked past the lease's end: the first thing that it then hears is that the lease is lost,
    though etcd may not have ended it yet."""
    store, clock = make_store(etcd.endpoint), SteadyClock()
    lease = await store.grant_lease(1_000)
    await store.transact([], [Put("/leased", b"", lease.lease_id)])
    until_ms = clock.monotonic_ms() + lease.ttl_ms - 100
    while clock.monotonic_ms() < until_ms:  # nothing else runs on this loop meanwhile
        pass
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)
