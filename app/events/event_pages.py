"""What a watcher is told next: sans-IO. It has a place in the table of changes, and nothing else is kept for it."""

from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from app.events.audience import Audience, AudienceKey
from app.events.change_table import ChangeTable
from app.events.event_text import event
from app.events.thing import Thing, ThingKind

PAGE_BYTES_MAX = 64 * 1024
"""Of what a page says; one thing is said even if it is larger."""
PAGES_KEPT_MAX = 100
"""Made in one interval, for those who are told the same."""

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class EventReader:
    """One watcher: it was told all up to `version`. `snapshot_until` is where a snapshot ends that it is in, None
    outside of one; `reason` why it begins, "" once it has."""

    audience: Audience
    version: int = 0
    snapshot_until: int | None = None
    reason: str = ""
    audience_key: AudienceKey = field(init=False)

    def __post_init__(self) -> None:
        self.audience_key = self.audience.key  # found once: it is looked up in every interval


class EventPage(NamedTuple):
    """`text` empty: nothing of it is for this audience. `is_last`: nothing more is to be said now."""

    text: bytes
    version: int
    is_last: bool


class EventPages:
    """Of one table, whose `run` is its name: ids of another one say nothing here. `time_ms` is that of all pages."""

    def __init__(self, table: ChangeTable, *, run: str, pages_kept_max: int = PAGES_KEPT_MAX) -> None:
        self._table = table
        self._run = run
        self._pages_kept_max = pages_kept_max
        self._kept: dict[tuple[object, ...], EventPage] = {}
        self._kept_of = -1, 0, True
        self.time_ms = 0
        self.interval_ms = 0
        self.is_complete = True

    def reader(self, audience: Audience, event_id: str = "") -> EventReader:
        """Who goes on behind the event of that id, or begins anew."""
        run, _, number = event_id.rpartition("-")
        if not event_id:
            return EventReader(audience, reason="start")
        if run == self._run and number.isascii() and number.isdigit() and len(number) <= 18:
            version = int(number)
            if self._table.forgotten <= version <= self._table.version:
                return EventReader(audience, version)
        return EventReader(audience, reason="unknown")

    def next(self, reader: EventReader) -> EventPage:
        """What it is told now; it is taken to be told."""
        table = self._table
        if not reader.reason and table.forgotten > max(reader.version, reader.snapshot_until or 0):
            reader.reason = "lost"
        if reader.reason:
            reader.version, reader.snapshot_until = 0, table.version
        now = table.version, self.time_ms, self.is_complete
        if now != self._kept_of or len(self._kept) >= self._pages_kept_max:
            self._kept, self._kept_of = {}, now
        place = (reader.audience_key, reader.version, reader.snapshot_until, reader.reason)
        page = self._kept.get(place)
        if page is None:
            page = self._kept[place] = self._page(reader)
        reader.version, reader.reason = page.version, ""
        if page.is_last and reader.snapshot_until is not None:
            reader.version = max(page.version, reader.snapshot_until)
            reader.snapshot_until = None
        return page

    def _page(self, reader: EventReader) -> EventPage:
        until = reader.snapshot_until
        told: list[Thing] = []
        size_bytes, version, is_last = 0, self._table.version if until is None else until, True
        for thing in self._table.after(reader.version):
            if until is not None and thing.version > until:
                break
            if not reader.audience.sees(thing.key) or (until is not None and thing.text is None):
                continue
            size_bytes += len(thing.text or b"")
            if told and size_bytes > PAGE_BYTES_MAX:
                version, is_last = told[-1].version, False
                break
            told.append(thing)
        if not told and until is None:
            return EventPage(b"", version, is_last)
        name = "changes" if until is None else "snapshot"
        data = self._data(reader, told, is_last=is_last)
        return EventPage(event(name, data, f"{self._run}-{version}"), version, is_last)

    def _data(self, reader: EventReader, told: list[Thing], *, is_last: bool) -> bytes:
        head: dict[str, object] = {"time": self.time_ms}
        if reader.snapshot_until is not None:
            head["first"] = bool(reader.reason)
        if reader.reason:
            head |= {"reason": reader.reason, "intervalMs": self.interval_ms, "complete": self.is_complete}
        parts = [_encode({**head, "last": is_last})[1:-1]]
        removed: dict[str, list[object]] = {}
        for kind in ThingKind:
            of_kind = [each for each in told if each.key.kind is kind]
            texts = [each.text for each in of_kind if each.text is not None]
            if texts and kind is ThingKind.TOTALS:
                parts.append(b'"totals":%b' % texts[-1])
            elif texts:
                parts.append(b'"%b":[%b]' % (kind.value.encode(), b",".join(texts)))
            gone = [each.key.removed() for each in of_kind if each.text is None]
            if gone:
                removed[kind.value] = gone
        if removed:
            parts.append(b'"removed":%b' % _encode(removed))
        return b"{%b}" % b",".join(parts)
