"""Real etcd servers, and stores on them, for the tests of this folder."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cluster.etcd.etcd_store import EtcdStore
from tests.support.etcd_binary import etcd_binary
from tests.support.etcd_process import EtcdProcess, running_etcd
from tests.support.etcd_store import etcd_store

StoreMaker = Callable[..., EtcdStore]


@pytest.fixture(scope="session")
def binary(pytestconfig: pytest.Config) -> Path:
    return etcd_binary(pytestconfig)


@pytest.fixture
def etcd(binary: Path) -> Iterator[EtcdProcess]:
    """A member of its own for this test."""
    with running_etcd(binary) as process:
        yield process


@pytest.fixture
async def make_store() -> AsyncIterator[StoreMaker]:
    """Makes stores on the given endpoints; they are closed at the end."""
    async with AsyncExitStack() as stores:

        def make(*endpoints: str, **settings: object) -> EtcdStore:
            store = etcd_store(*endpoints, **settings)
            stores.push_async_callback(store.close)
            return store

        yield make
