"""The latest revisions, for watches. Bounded: what no longer fits is compacted, oldest first."""

from cluster.ports.coordination import Changed, CompactedError, Event, WatchBatch, key_of
from cluster.stores.key_space import Mutation

EVENT_BYTES = 200  # what an event costs beside its key and value


class RevisionHistory:
    """Holds every revision from `oldest_revision` to the newest, without gap; begins behind `revision`."""

    def __init__(self, revision: int, *, revisions_max: int, bytes_max: int) -> None:
        self.oldest_revision = revision + 1
        self._revisions_max = revisions_max
        self._bytes_max = bytes_max
        self._bytes = 0
        self._events: dict[int, tuple[Event, ...]] = {}

    @property
    def newest_revision(self) -> int:
        return self.oldest_revision + len(self._events) - 1

    def append(self, mutation: Mutation) -> None:
        if not mutation.events:
            return
        assert mutation.revision == self.newest_revision + 1, "the history has no gaps"
        self._events[mutation.revision] = mutation.events
        self._bytes += _size(mutation.events)
        while len(self._events) > self._revisions_max or (self._bytes > self._bytes_max and len(self._events) > 1):
            self._drop_oldest()

    def compact(self, revision: int) -> None:
        """Forget what is before `revision`; nothing happens if that is done already."""
        if revision > self.newest_revision + 1:
            raise ValueError(f"revision {revision} does not exist yet")
        while self.oldest_revision < revision:
            self._drop_oldest()

    def under(self, prefix: str, revision: int) -> WatchBatch | None:
        """The changes of one existing revision under `prefix`, None if there are none; raises CompactedError."""
        if revision < self.oldest_revision:
            raise CompactedError(self.oldest_revision)
        events = tuple(event for event in self._events[revision] if key_of(event).startswith(prefix))
        return WatchBatch(revision, events) if events else None

    def _drop_oldest(self) -> None:
        self._bytes -= _size(self._events.pop(self.oldest_revision))
        self.oldest_revision += 1


def _size(events: tuple[Event, ...]) -> int:
    return sum(
        EVENT_BYTES + len(key_of(event)) + (len(event.item.value) if isinstance(event, Changed) else 0)
        for event in events
    )
