"""What a mirror tells Prometheus, and how it is asked."""

import asyncio

from acklog.command.mirror_metrics import MEANINGS, MetricsListener, prometheus_text
from acklog.mirror.mirror_figures import GAPS_KEPT_MAX, MirroredTopic, MirrorFigures
from acklog.mirror.mirror_gap import GapKind, MirrorGap


def figures() -> MirrorFigures:
    topic = MirroredTopic("orders", "eu.orders")
    partition = topic.of(3)
    partition.copied, partition.next_offset = 7, 10
    partition.is_at(15)
    partition.waiting_since_ms = 1_000
    return MirrorFigures({"orders": topic})


def test_the_lag_is_told_by_topic_and_partition() -> None:
    text = prometheus_text(figures(), "mirror", now_ms=3_500)
    labels = 'mirror="mirror",topic="orders",target="eu.orders",partition="3"'
    assert f"acklog_mirror_lag_messages{{{labels}}} 5\n" in text
    assert f"acklog_mirror_lag_seconds{{{labels}}} 2.5\n" in text
    assert 'acklog_mirror_lag_seconds_max{mirror="mirror"} 2.5\n' in text
    assert all(f"# TYPE {name} {kind}\n" in text for name, (kind, _) in MEANINGS.items())


def test_who_is_caught_up_does_not_wait() -> None:
    found = figures()
    partition = found.topics["orders"].of(3)
    partition.next_offset = 15
    partition.is_at(15)
    assert (partition.lag, partition.lag_ms(9_999)) == (0, 0)


def test_gaps_are_counted_and_the_last_ones_kept() -> None:
    found = MirrorFigures()
    for number in range(GAPS_KEPT_MAX + 5):
        found.found(MirrorGap(GapKind.REMOVED, "orders", 0, "gone", number, number + 1))
    assert (found.gap_count, len(found.gaps), found.gaps[0].from_offset) == (GAPS_KEPT_MAX + 5, GAPS_KEPT_MAX, 5)


async def asked(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


async def test_it_answers_what_it_knows_and_refuses_the_rest() -> None:
    listener = MetricsListener(lambda: "a 1\n")
    await listener.open("127.0.0.1", 0)
    try:
        metrics = await asked(listener.port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert metrics.startswith(b"HTTP/1.1 200 OK\r\n")
        assert metrics.endswith(b"\r\n\r\na 1\n")
        assert b"200 OK" in await asked(listener.port, b"GET /healthz HTTP/1.1\r\n\r\n")
        assert b"404" in await asked(listener.port, b"GET /other HTTP/1.1\r\n\r\n")
        assert b"405" in await asked(listener.port, b"POST /metrics HTTP/1.1\r\n\r\n")
        assert await asked(listener.port, b"x" * 20_000 + b"\r\n\r\n") == b""
    finally:
        await listener.close()
