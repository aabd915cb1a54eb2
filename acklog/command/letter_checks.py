"""What a doctor says of dead letters: those that nobody has handled, that will be gone, and that become more."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, names_text, ok, warn
from acklog.command.dead_letters import dead_letter_topics, reader_of
from acklog.command.log_ends import log_end, log_start
from acklog.command.times import duration_text
from acklog.command.undone import progress_of

if TYPE_CHECKING:
    from acklog import Client

TOPICS_LOOKED_INTO_MAX = 20
EXPIRING_MS = 24 * 3_600_000
RECENT_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Letters of one topic that nobody has handled. `expires_at_ms` is when retention may remove the oldest; None where
    it never does. `recent` died within the last hour."""

    topic: str
    expires_at_ms: int | None
    recent: int


def letter_checks(client: "Client", *, now_ms: Callable[[], int]) -> Iterator[Check]:
    """`now_ms` is this machine's clock. Raises AcklogError."""
    unhandled = [topic for topic in dead_letter_topics(client) if topic.unhandled]
    if not unhandled:
        yield ok("dead letters", "none that are unhandled")
        return
    names = names_text([f"{topic.name} ({topic.unhandled:,})" for topic in unhandled])
    advice = (
        f"Look at them: acklog dlq show {unhandled[0].name}. Send them back: acklog dlq redrive {unhandled[0].name}."
    )
    yield warn("dead letters", f"unhandled: {names}", advice)
    asked_at_ms = now_ms()
    waiting = [_waiting(client, topic.name, asked_at_ms) for topic in unhandled[:TOPICS_LOOKED_INTO_MAX]]
    expiring = [
        f"{each.topic} (in {duration_text(max(0, each.expires_at_ms - asked_at_ms))})"
        for each in waiting
        if each.expires_at_ms is not None and each.expires_at_ms - asked_at_ms < EXPIRING_MS
    ]
    if expiring:
        advice = "Handle them, or keep letters longer: acklog topics update TOPIC --retention 30d."
        yield warn("letters expiring", f"retention removes the first of {names_text(expiring)}", advice)
    growing = [f"{each.topic} ({each.recent:,})" for each in waiting if each.recent]
    if growing:
        advice = "Messages fail now: acklog dlq list says why the newest did."
        yield warn("letters growing", f"new within the last hour: {names_text(growing)}", advice)


def _waiting(client: "Client", name: str, now_ms: int) -> _Waiting:
    topic = client.topics.get(name)
    progress = progress_of(client, reader_of(name), name)
    begins = {} if progress is None else {each.partition: each.progress for each in progress.offsets}
    times_ms: list[int] = []
    recent = 0
    for state in topic.partition_states:
        end = log_end(state)
        begin = max(log_start(state), begins.get(state.partition) or 0)
        if begin >= end:
            continue
        page = client.records(name, state.partition, offset=begin, max_bytes=1)
        times_ms += [each.append_time_ms for each in page.messages[:1]]
        since = client.records(name, state.partition, time_ms=max(0, now_ms - RECENT_MS), max_bytes=1)
        recent += end - min(max(since.offset, begin), end)
    keeps_ms = topic.config.retention_ms
    expires_at_ms = min(times_ms) + keeps_ms if times_ms and keeps_ms >= 0 else None
    return _Waiting(name, expires_at_ms, recent)
