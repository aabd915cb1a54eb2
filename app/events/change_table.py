"""What is true now, by when it became so: whoever knows up to where a watcher has been told knows what it lacks.

Nothing is kept per watcher, and of each thing only what is true now. A watcher that is behind is told that, and not all
that was true between.
"""

from collections import OrderedDict
from collections.abc import Iterator

from app.events.thing import Thing, ThingKey, ThingKind

REMOVED_MAX = 10_000
"""Removed things that are remembered."""
THING_BYTES = 100
"""What naming a removed thing counts for."""


class ChangeTable:
    """`put` and `remove` say what is to be told, `flush` has it told: so much at a time, what has waited longest first,
    so that everything has its turn however much changes. `version` rises with each thing that is told of."""

    def __init__(self, *, removed_max: int = REMOVED_MAX) -> None:
        self.version = 0
        self.forgotten = 0
        """Removals up to this version may not be remembered any more."""
        self._removed_max = removed_max
        self._things: OrderedDict[ThingKey, Thing] = OrderedDict()
        self._removed: OrderedDict[ThingKey, None] = OrderedDict()
        self._waiting: OrderedDict[ThingKey, bytes | None] = OrderedDict()

    def put(self, key: ThingKey, text: bytes) -> None:
        self._want(key, text)

    def remove(self, key: ThingKey) -> None:
        self._want(key, None)

    def flush(self, *, bytes_max: int | None) -> None:
        """Have what waits be told, at least one thing; None: all of it. The totals are never kept waiting."""
        totals = next((key for key in self._waiting if key.kind is ThingKind.TOTALS), None)
        if totals is not None:
            self._waiting.move_to_end(totals, last=False)
        told_bytes = 0
        while self._waiting and (bytes_max is None or told_bytes < bytes_max):
            key, text = self._waiting.popitem(last=False)
            told_bytes += THING_BYTES if text is None else len(text)
            self._tell(key, text)

    def after(self, version: int) -> list[Thing]:
        """What was told since, the longest ago first."""
        found: list[Thing] = []
        for thing in reversed(self._things.values()):
            if thing.version <= version:
                break
            found.append(thing)
        found.reverse()
        return found

    def keys(self, kind: ThingKind) -> Iterator[ThingKey]:
        """Of what is shown, or will be once it is told."""
        for key, thing in self._things.items():
            if key.kind is kind and self._waiting.get(key, thing.text) is not None:
                yield key
        for key, text in self._waiting.items():
            if key.kind is kind and text is not None and key not in self._things:
                yield key

    def _want(self, key: ThingKey, text: bytes | None) -> None:
        told = self._things.get(key)
        if (None if told is None else told.text) == text:
            self._waiting.pop(key, None)
        else:
            self._waiting[key] = text  # where it waits already, it keeps its turn

    def _tell(self, key: ThingKey, text: bytes | None) -> None:
        self.version += 1
        self._things[key] = Thing(key, text, self.version)
        self._things.move_to_end(key)
        self._removed.pop(key, None)
        if text is None:
            self._removed[key] = None
            if len(self._removed) > self._removed_max:
                oldest, _ = self._removed.popitem(last=False)
                self.forgotten = self._things.pop(oldest).version
