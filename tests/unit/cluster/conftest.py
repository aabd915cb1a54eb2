"""A catalogue on a store in memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.metadata.metadata_view import MetadataView
from cluster.stores.memory_store import MemoryStore
from tests.support.counting_entropy import CountingEntropy
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock


@dataclass
class Catalogue:
    clock: ManualClock
    store: FlakyStore
    metadata: MetadataView
    entropy: CountingEntropy = field(default_factory=CountingEntropy)

    def topics(self, settings: CatalogSettings | None = None) -> TopicAdmin:
        return TopicAdmin(self.store, self.metadata, clock=self.clock, entropy=self.entropy, settings=settings)

    def groups(self, settings: CatalogSettings | None = None) -> GroupAdmin:
        return GroupAdmin(self.store, self.metadata, clock=self.clock, entropy=self.entropy, settings=settings)


@pytest.fixture
async def catalogue() -> AsyncIterator[Catalogue]:
    clock = ManualClock()
    store = FlakyStore(MemoryStore(clock))
    metadata = MetadataView(store, clock)
    await metadata.start()
    store.calls.clear()
    yield Catalogue(clock, store, metadata)
    await metadata.close()
    await store.close()
