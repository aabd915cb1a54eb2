"""The figures of a mirror for Prometheus: as text, and where it is asked for."""

import asyncio
from collections.abc import Callable, Iterator

from acklog.mirror.mirror_figures import MirrorFigures

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_SECONDS_MAX = 5.0
REQUEST_BYTES_MAX = 8192
SERIES_MAX = 10_000
"""Partitions that have series of their own; beyond it the sums count, which have all."""
MEANINGS = {
    "acklog_mirror_up": ("gauge", "1 while the mirror runs"),
    "acklog_mirror_problem": ("gauge", "1 while the mirror as a whole cannot go on"),
    "acklog_mirror_lag_messages": ("gauge", "offsets of the source that were not dealt with"),
    "acklog_mirror_lag_seconds": ("gauge", "how long the first message that is not copied has waited"),
    "acklog_mirror_lag_messages_sum": ("gauge", "of all partitions"),
    "acklog_mirror_lag_seconds_max": ("gauge", "of all partitions"),
    "acklog_mirror_copied_total": ("counter", "messages copied since the start"),
    "acklog_mirror_copied_bytes_total": ("counter", "their bodies, and what they take beside"),
    "acklog_mirror_came_back_total": ("counter", "messages that had been in the target, and were not copied"),
    "acklog_mirror_skipped_total": ("counter", "offsets that gaps took, and that were passed over"),
    "acklog_mirror_topic_stopped": ("gauge", "1 for a topic of which nothing is copied"),
    "acklog_mirror_gaps_total": ("counter", "gaps that were found"),
    "acklog_mirror_partitions_failing": ("gauge", "partitions that cannot go on just now"),
}
"""Metric by metric, its type and what it tells."""


def prometheus_text(figures: MirrorFigures, name: str, now_ms: int) -> str:
    """In Prometheus' format."""
    lines: list[str] = []
    by_metric: dict[str, list[str]] = {metric: [] for metric in MEANINGS}
    for metric, labels, value in _samples(figures, now_ms):
        text = ",".join(f'{key}="{each}"' for key, each in {"mirror": name, **labels}.items())
        by_metric[metric].append(f"{metric}{{{text}}} {value}")
    for metric, samples in by_metric.items():
        kind, meaning = MEANINGS[metric]
        lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} {kind}", *samples]
    return "\n".join(lines) + "\n"


def _samples(figures: MirrorFigures, now_ms: int) -> Iterator[tuple[str, dict[str, str], float]]:
    yield "acklog_mirror_up", {}, 1
    yield "acklog_mirror_problem", {}, int(bool(figures.problem))
    yield "acklog_mirror_gaps_total", {}, figures.gap_count
    yield "acklog_mirror_lag_messages_sum", {}, figures.lag
    yield "acklog_mirror_lag_seconds_max", {}, figures.lag_ms(now_ms) / 1000
    partitions = [each for topic in figures.topics.values() for each in topic.partitions.values()]
    yield "acklog_mirror_partitions_failing", {}, sum(bool(each.problem) for each in partitions)
    shown = 0
    for topic in figures.topics.values():
        labels = {"topic": topic.source, "target": topic.target}
        yield "acklog_mirror_topic_stopped", labels, int(bool(topic.stopped))
        yield "acklog_mirror_copied_total", labels, sum(each.copied for each in topic.partitions.values())
        yield "acklog_mirror_copied_bytes_total", labels, sum(each.copied_bytes for each in topic.partitions.values())
        yield "acklog_mirror_came_back_total", labels, sum(each.came_back for each in topic.partitions.values())
        yield "acklog_mirror_skipped_total", labels, sum(each.skipped for each in topic.partitions.values())
        for number, partition in topic.partitions.items():
            lag, lag_ms = partition.lag, partition.lag_ms(now_ms)
            if shown == SERIES_MAX or lag is None or lag_ms is None:
                continue
            shown += 1
            place = {**labels, "partition": str(number)}
            yield "acklog_mirror_lag_messages", place, lag
            yield "acklog_mirror_lag_seconds", place, lag_ms / 1000


class MetricsListener:
    """Answers `GET /metrics`, and `GET /healthz` as long as the process lives. One request a connection."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.port = 0
        self._text = text
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> None:
        """Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=REQUEST_BYTES_MAX)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        body, status = b"", b"404 Not Found"
        if method not in {b"GET", b"HEAD"}:
            status = b"405 Method Not Allowed"
        elif path == b"/metrics":
            body, status = self._text().encode(), b"200 OK"
        elif path == b"/healthz":
            body, status = b'{"status":"alive"}\n', b"200 OK"
        kind = CONTENT_TYPE if path == b"/metrics" else "application/json"
        lines = [b"HTTP/1.1 " + status, b"Content-Type: " + kind.encode(), b"Connection: close"]
        lines.append(b"Content-Length: %d" % len(body))
        return b"\r\n".join(lines) + b"\r\n\r\n" + (b"" if method == b"HEAD" else body)
