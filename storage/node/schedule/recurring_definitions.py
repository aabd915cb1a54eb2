"""The recurring schedules of a node's partitions, as the coordination store has them."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from cluster.metadata.metadata_view import MetadataView
from cluster.metadata.recurring_state import Home
from cluster.model import keys
from cluster.model.codec import decode, encode_instead
from cluster.model.recurring_schedule import RecurringSchedule, home_of
from cluster.ports.coordination import CoordinationError, CoordinationStore, Put, unchanged


class RecurringDefinitions:
    """Of one node. Whoever leads a partition attends to it, and hears when something about its schedules may have
    changed."""

    def __init__(self, store: CoordinationStore, metadata: MetadataView, *, timeout_ms: int) -> None:
        self._store = store
        self._metadata = metadata
        self._timeout_ms = timeout_ms
        self._attending: dict[Home, Callable[[], None]] = {}
        self._concerned: list[Home] = []
        self._unsubscribe: Callable[[], None] | None = None

    def attend(self, topic_id: str, partition: int, on_news: Callable[[], None]) -> Callable[[], None]:
        """How to stop."""
        if self._unsubscribe is None:
            self._unsubscribe = self._metadata.subscribe(self._metadata_changed)
        home = (topic_id, partition)
        self._attending[home] = on_news

        def stop() -> None:
            if self._attending.get(home) is on_news:
                del self._attending[home]
            if not self._attending and self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None

        return stop

    def _metadata_changed(self) -> None:
        before, recurring = self._concerned, self._metadata.recurring
        self._concerned = [home for home in recurring.homes() if home in self._attending]
        for home in dict.fromkeys([*before, *self._concerned]):
            on_news = self._attending.get(home)
            if on_news is not None:
                on_news()

    # --- looking up --------------------------------------------------------------------------------------------------

    def of_home(self, topic_id: str, partition: int) -> list[RecurringSchedule]:
        return self._metadata.recurring.of_home(topic_id, partition)

    def proper_home(self, definition: RecurringSchedule) -> int:
        """Which partition is to send it, as its topic is now."""
        topic = self._metadata.topic_by_id(definition.topic_id)
        return definition.home if topic is None else home_of(definition.name, definition.record, topic)

    async def gone(self, topic_id: str, ids: Iterable[str]) -> set[str]:
        """Those that were deleted for sure: none where the store cannot be asked, or has what is not understood."""
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                await self._metadata.confirm_all(keys.recurring_of(topic_id))
        except (TimeoutError, CoordinationError):
            return set()
        if self._metadata.recurring.undecodable:
            return set()
        return set(ids) - {each.id for each in self._metadata.recurring.of_topic(topic_id)}

    # --- changing ----------------------------------------------------------------------------------------------------

    async def move_home(self, definition: RecurringSchedule, home: int, done_ms: int) -> None:
        """The leader of another partition sends it from now on, and nothing that is due at `done_ms` or before. Only
        the leader of the present home may say so, once it has noted that it sends no more.

        Raises CoordinationError. What came of it shows in the metadata; to do it again is fine.
        """
        async with asyncio.timeout(self._timeout_ms / 1000):
            item = await self._store.get(keys.recurring(definition.topic_id, definition.name))
            if item is None:
                return
            found = decode(RecurringSchedule, item.value)
            if (found.id, found.home_moves) != (definition.id, definition.home_moves):
                return
            moved = msgspec.structs.replace(
                found, home=home, home_moves=found.home_moves + 1, since_ms=max(found.since_ms, done_ms)
            )
            await self._store.transact([unchanged(item)], [Put(item.key, encode_instead(moved, item.value))])
