"""Ended spans on their way out of the process."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from app.configuration.setting_error import SettingsError
from app.configuration.trace_options import TraceOptions
from app.processes.tracing import Tracing, start_tracing
from app.tracing.export_queue import ExportQueue
from app.tracing.exporters import traces_url
from app.tracing.span_figures import SpanFigures
from tests.support.recorded_spans import Chances

PATIENCE_SECONDS = 60


class HeldExporter(SpanExporter):
    """Exports when it may; `result` is what comes of it."""

    def __init__(self, result: SpanExportResult | Exception = SpanExportResult.SUCCESS) -> None:
        self.result = result
        self.may_export = threading.Event()
        self.names: list[str] = []
        self.is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        assert self.may_export.wait(PATIENCE_SECONDS)
        self.names += [span.name for span in spans]
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def shutdown(self) -> None:
        self.is_shut_down = True
        self.may_export.set()


class Process:
    """That ends spans."""

    def __init__(self, exporter: SpanExporter, *, spans_max: int) -> None:
        self.figures = SpanFigures()
        self.queue = ExportQueue(exporter, self.figures, spans_max=spans_max)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(self.queue)
        self._tracer = provider.get_tracer("test")

    def end_spans(self, count: int) -> None:
        for number in range(count):
            self._tracer.start_span(f"span {number}").end()

    def told(self) -> dict[str, float]:
        return {family.name: family.samples[0].value for family in self.figures.collect()}


async def test_a_close_exports_what_waits() -> None:
    exporter = HeldExporter()
    exporter.may_export.set()
    process = Process(exporter, spans_max=10)
    process.end_spans(3)
    await process.queue.close(timeout_ms=60_000)
    assert sorted(exporter.names) == ["span 0", "span 1", "span 2"]
    assert process.told() == {"acklog_trace_spans_exported": 3, "acklog_trace_spans_dropped": 0}


async def test_so_many_wait_and_further_ones_are_dropped_and_counted() -> None:
    exporter = HeldExporter()
    process = Process(exporter, spans_max=10)
    process.end_spans(10)
    assert process.told()["acklog_trace_spans_dropped"] == 0
    process.end_spans(5)
    assert process.told()["acklog_trace_spans_dropped"] == 5
    exporter.may_export.set()
    await process.queue.close(timeout_ms=60_000)
    assert process.told() == {"acklog_trace_spans_exported": 10, "acklog_trace_spans_dropped": 5}


@pytest.mark.parametrize("result", [SpanExportResult.FAILURE, OSError("the receiver is gone")])
async def test_what_the_receiver_does_not_take_is_dropped(result: SpanExportResult | Exception) -> None:
    exporter = HeldExporter(result)
    exporter.may_export.set()
    process = Process(exporter, spans_max=10)
    process.end_spans(4)
    await process.queue.close(timeout_ms=60_000)
    assert process.told() == {"acklog_trace_spans_exported": 0, "acklog_trace_spans_dropped": 4}


async def test_a_close_does_not_wait_for_an_export_that_hangs() -> None:
    exporter = HeldExporter()
    process = Process(exporter, spans_max=10)
    process.end_spans(1)
    async with asyncio.timeout(PATIENCE_SECONDS / 2):
        await process.queue.close(timeout_ms=0)
    assert exporter.is_shut_down


def test_a_base_url_is_completed_as_the_exporters_environment_would_be() -> None:
    assert (
        traces_url("http://collector:4318") == traces_url("http://collector:4318/") == "http://collector:4318/v1/traces"
    )
    assert traces_url("https://service/otlp") == "https://service/otlp/v1/traces"
    assert traces_url("https://service/v1/traces") == "https://service/v1/traces"


def start(**options: str) -> Tracing:
    return start_tracing(TraceOptions(**options), Chances([0.5]), service="acklog-server", instance="1")


def test_without_an_endpoint_there_is_no_tracer_and_no_figure() -> None:
    tracing = start()
    assert (tracing.tracer, tracing.collectors) == (None, ())


def test_a_server_without_one_loads_nothing_of_the_sdk() -> None:
    program = (
        "import sys\n"
        "from app.configuration.trace_options import TraceOptions\n"
        "from app.processes import server, tracing\n"
        "tracing.start_tracing(TraceOptions(), None, service='acklog-server', instance='1')\n"
        "wanted = ('opentelemetry.sdk', 'opentelemetry.exporter')\n"
        "assert not [name for name in sys.modules if name.startswith(wanted)]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("protocol", "missing"),
    [
        ("http/protobuf", "opentelemetry.sdk.trace"),
        ("http/protobuf", "opentelemetry.exporter.otlp.proto.http.trace_exporter"),
        ("grpc", "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"),
    ],
)
def test_what_is_not_installed_is_named_with_what_to_do(
    protocol: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("app.tracing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SettingsError) as raised:
        start(otlp_endpoint="http://collector:4318", otlp_protocol=protocol)
    assert missing in str(raised.value)
    assert 'pip install "acklog-server[tracing]"' in str(raised.value)
