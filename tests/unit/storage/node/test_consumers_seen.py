"""Who receives for a group, as a node sees it."""

import pytest

from storage.node import consumers_seen
from storage.node.consumers_seen import SEEN_MS_MAX, SEEN_MS_MIN, ConsumersSeen


def seen_by(*consumers: str, now_ms: int = 0, wait_ms: int = 0, visibility_ms: int = 0) -> ConsumersSeen:
    seen = ConsumersSeen()
    for consumer in consumers:
        seen.saw("g", consumer, now_ms=now_ms, wait_ms=wait_ms, visibility_ms=visibility_ms)
    return seen


@pytest.mark.parametrize(
    ("wait_ms", "visibility_ms", "until_ms"),
    [
        (0, 0, SEEN_MS_MIN),
        (20_000, 0, SEEN_MS_MIN + 20_000),
        (0, 300_000, 300_000),
        (0, 12 * 3_600_000, SEEN_MS_MAX),
    ],
)
def test_for_how_long_somebody_counts(wait_ms: int, visibility_ms: int, until_ms: int) -> None:
    seen = seen_by("a", wait_ms=wait_ms, visibility_ms=visibility_ms)
    assert seen.names("g", now_ms=until_ms, limit=9) == ["a"]
    assert seen.names("g", now_ms=until_ms + 1, limit=9) == []


def test_each_counts_once_for_each_group() -> None:
    seen = seen_by("b", "a", "b", "")
    assert seen.names("g", now_ms=0, limit=9) == ["", "a", "b"]
    assert seen.names("g", now_ms=0, limit=2) == ["", "a"]
    assert seen.names("h", now_ms=0, limit=9) == []


def test_who_was_seen_longest_ago_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers_seen, "CONSUMERS_MAX", 2)
    assert seen_by("a", "b", "a", "c").names("g", now_ms=0, limit=9) == ["a", "c"]
