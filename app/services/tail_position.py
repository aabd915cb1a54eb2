"""Where a tail is, what it says of what is missing, and how fast it goes. Sans-IO."""

from collections.abc import Iterable, Mapping

import msgspec

from acklog.wire.problems import ProblemCode
from app.calls.tail import GONE, NO_EPOCH, TailCursor, TailPlace
from app.events.event_text import event
from cluster.errors import ServerError

_encode = msgspec.json.Encoder().encode


class TailPosition:
    """Of one stream. Each event says where it stands behind it."""

    def __init__(self, topic_id: str, places: Iterable[TailPlace]) -> None:
        self._topic_id = topic_id
        self._places: dict[int, TailPlace] = {each.partition: each for each in places}
        self._said = ""

    def __contains__(self, partition: int) -> bool:
        return partition in self._places

    def __len__(self) -> int:
        return len(self._places)

    def place(self, partition: int) -> TailPlace:
        return self._places[partition]

    def open_partitions(self) -> list[int]:
        """Those that something may still come from."""
        return [each.partition for each in self._places.values() if each.offset != GONE]

    def add(self, partition: int) -> None:
        """One that the topic has got since: read from its beginning."""
        self._places[partition] = TailPlace(partition, 0)

    def move(self, place: TailPlace) -> None:
        self._places[place.partition] = place

    def message(self, data: bytes, place: TailPlace) -> bytes:
        self.move(place)
        return event("message", data, self._text())

    def position(self) -> bytes:
        """Where it stands, with nothing to say of it; empty where that was said."""
        said = self._said
        return b"" if self._text() == said else event("position", b"{}", self._said)

    def replaced(self) -> bytes:
        """The topic is another one than that which was read before."""
        return self._gap("topicReplaced", None, None, None)

    def missing(self, partition: int, error: ServerError) -> bytes | None:
        """What is said of offsets that cannot be read, and goes on behind them; None where the error says no such
        thing."""
        place = self._places[partition]
        found = _behind(place, error)
        if found is None:
            return None
        reason, behind = found
        self.move(TailPlace(partition, GONE if behind is None else behind))
        return self._gap(reason, partition, place.offset, behind)

    def _gap(self, reason: str, partition: int | None, begin: int | None, behind: int | None) -> bytes:
        data = {"reason": reason, "partition": partition, "fromOffset": begin, "nextOffset": behind}
        return event("gap", _encode(data), self._text())

    def _text(self) -> str:
        self._said = TailCursor(self._topic_id, list(self._places.values())).text()
        return self._said


def _behind(place: TailPlace, error: ServerError) -> tuple[str, int | None] | None:
    """Why the partition cannot be read on at its place, and where it can; None for where: never again."""
    extra: Mapping[str, object] = error.extra
    if error.code is ProblemCode.MESSAGE_EXPIRED:
        return "partitionGone", None
    if error.code is ProblemCode.OFFSET_OUT_OF_RANGE:
        start, end = extra.get("logStart"), extra.get("highWatermark")
        if isinstance(start, int) and place.offset < start:
            return "removed", start
        if isinstance(end, int) and place.offset > end:
            return "cut", end
    if error.code is ProblemCode.LOG_DIVERGED:
        at = extra.get("divergedAt")
        return ("cut", min(at, place.offset)) if isinstance(at, int) else None
    if error.code is ProblemCode.RECORDS_CORRUPT:
        behind = extra.get("next_offset")
        return ("damaged", behind) if isinstance(behind, int) and behind > place.offset else None
    return None


class TailPace:
    """So many messages a second: `wait_ms` says how long the next ones have to wait."""

    def __init__(self, messages_per_second: int) -> None:
        self.messages_at_once = max(1, messages_per_second // 10)
        self._ms_each = 1000 / messages_per_second
        self._free_at_ms = 0.0

    def wait_ms(self, now_ms: int) -> float:
        return max(0.0, self._free_at_ms - now_ms)

    def took(self, messages: int, now_ms: int) -> None:
        self._free_at_ms = max(self._free_at_ms, float(now_ms)) + messages * self._ms_each


def begun(places: Mapping[int, int]) -> list[TailPlace]:
    """The first places, by partition: nothing was read there yet."""
    return [TailPlace(partition, offset, NO_EPOCH) for partition, offset in sorted(places.items())]
