"""A tracer whose spans a test looks at."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from app.tracing.open_telemetry import OpenTelemetryTracer, traceparent_of

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SAMPLED = f"00-{TRACE_ID}-b7ad6b7169203331-01"
UNSAMPLED = f"00-{TRACE_ID}-b7ad6b7169203331-00"


class Chances:
    """Entropy that draws what it is told, and again the last of it."""

    def __init__(self, fractions: Sequence[float]) -> None:
        self._fractions = list(fractions)
        self.draws = 0

    def bits64(self) -> int:
        return 1

    def fraction(self) -> float:
        self.draws += 1
        return self._fractions.pop(0) if len(self._fractions) > 1 else self._fractions[0]


class RecordedSpans:
    """`tracer` begins a trace for each request whose chance is below `sample_per_mille` of 1,000."""

    def __init__(self, *, sample_per_mille: int = 0, chances: Sequence[float] = (0.5,)) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.chances = Chances(chances)
        self.tracer = OpenTelemetryTracer(provider, self.chances, sample_per_mille=sample_per_mille)

    @property
    def ended(self) -> list[ReadableSpan]:
        """In the order in which they ended."""
        return list(self._exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.ended]

    def named(self, name: str) -> ReadableSpan:
        """The only one."""
        [found] = [span for span in self.ended if span.name == name]
        return found

    def all_named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.ended if span.name == name]

    def forget(self) -> None:
        self._exporter.clear()


def traceparent(span: ReadableSpan) -> str:
    return traceparent_of(span.get_span_context())


def parent_of(span: ReadableSpan) -> str:
    """As a traceparent; "" where it begins a trace."""
    return "" if span.parent is None else traceparent_of(span.parent)


def links_of(span: ReadableSpan) -> list[str]:
    return [traceparent_of(link.context) for link in span.links]


def trace_id(span: ReadableSpan) -> str:
    return f"{span.get_span_context().trace_id:032x}"
