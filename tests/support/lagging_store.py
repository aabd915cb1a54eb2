"""A connection to a coordination store over which news come late, and answers not at all, when a test says so."""

import asyncio

from cluster.ports.coordination import CoordinationStore, KeyValue, Listing, Watch, WatchBatch
from tests.support.flaky_store import FlakyStore


class _Tap:
    """Open at first; whoever passes while it is shut waits."""

    def __init__(self) -> None:
        self._is_open = asyncio.Event()
        self.open()

    def shut(self) -> None:
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()

    async def passed(self) -> None:
        await self._is_open.wait()


class LaggingStore(FlakyStore):
    """`news` are what watches tell, `answers` what reads return. Closing it closes nothing of the others'."""

    def __init__(self, store: CoordinationStore) -> None:
        super().__init__(store)
        self.news = _Tap()
        self.answers = _Tap()
        self.asked: list[str] = []

    async def get(self, key: str) -> KeyValue | None:
        self.asked.append(key)
        await self.answers.passed()
        return await super().get(key)

    async def list(self, prefix: str) -> Listing:
        self.asked.append(prefix)
        await self.answers.passed()
        return await super().list(prefix)

    def watch(self, prefix: str, start_revision: int) -> Watch:
        return _LaggingWatch(super().watch(prefix, start_revision), self.news)

    async def close(self) -> None:
        self.news.open()
        self.answers.open()


class _LaggingWatch:
    def __init__(self, watch: Watch, news: _Tap) -> None:
        self._watch = watch
        self._news = news

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> WatchBatch:
        batch = await anext(self._watch)
        await self._news.passed()
        return batch

    async def aclose(self) -> None:
        await self._watch.aclose()
