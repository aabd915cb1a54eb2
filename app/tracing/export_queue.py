"""Ended spans on their way out: a bounded queue, a thread of the SDK's that empties it, and an end that does not wait
for ever."""

import asyncio
import threading
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from app.tracing.span_figures import SpanFigures

BATCH_SPANS_MAX = 512
BATCH_DELAY_MS = 1_000


class ExportQueue(SpanProcessor):
    """At most `spans_max` wait, those that are being exported included; further ones are dropped, and counted."""

    def __init__(self, exporter: SpanExporter, figures: SpanFigures, *, spans_max: int) -> None:
        self._exporter = exporter
        self._figures = figures
        self._spans_max = spans_max
        self._batches = BatchSpanProcessor(
            _CountedExporter(exporter, figures),
            max_queue_size=spans_max + 1,  # it is this class that says when there are too many
            schedule_delay_millis=BATCH_DELAY_MS,
            max_export_batch_size=min(BATCH_SPANS_MAX, spans_max),
        )

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        figures = self._figures
        is_full = figures.waiting >= self._spans_max
        figures.ended += 1
        if is_full:
            figures.refused += 1
        else:
            self._batches.on_end(span)

    async def close(self, *, timeout_ms: int) -> None:
        """Export what waits, as far as that is done in time. Nothing is exported afterwards."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def flush() -> None:
            self._batches.shutdown()  # type: ignore[no-untyped-call]
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:
                return  # the loop was closed: nobody waits any more

        # A thread that ends with the process: an export that hangs must not keep it.
        threading.Thread(target=flush, name="acklog-flush-spans", daemon=True).start()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await done.wait()
        except TimeoutError:
            self._exporter.shutdown()  # ends its pauses between tries


class _CountedExporter(SpanExporter):
    def __init__(self, exporter: SpanExporter, figures: SpanFigures) -> None:
        self._exporter = exporter
        self._figures = figures

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:  # of the library's; the thread goes on with the next batch
            result = SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            self._figures.exported += len(spans)
        else:
            self._figures.failed += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()
