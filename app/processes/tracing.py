"""What a process has of tracing: a tracer, its figures and its end; or none of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from prometheus_client.registry import Collector

from acklog import __version__
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.configuration.trace_options import TraceOptions
from app.processes.logging import log_also
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer

EXTRA = "acklog-server[tracing]"


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Tracing:
    """`tracer` None: nothing is traced, and nothing of it costs anything. `close` it when no request is under way."""

    tracer: Tracer | None = None
    collectors: tuple[Collector, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing


def instance_of(settings: Settings, entropy: Entropy) -> str:
    """What tells a process apart that has no number: where it listens, and a part that no other start has."""
    return f"{settings.host}:{settings.port}-{entropy.bits64():016x}"


def check_tracing(options: TraceOptions) -> None:
    """Raises SettingsError where what it takes is not installed."""
    if not options.otlp_endpoint:
        return
    try:
        import app.tracing.open_telemetry  # noqa: F401 - whether it can be
        from app.tracing.exporters import exporter_kind

        exporter_kind(options)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"opentelemetry", "google", "grpc", "requests"}:
            raise
        raise SettingsError(
            f'{error.name} is not installed, which --otlp-endpoint needs: pip install "{EXTRA}", '
            "or leave the endpoint out"
        ) from None


def start_tracing(options: TraceOptions, entropy: Entropy, *, service: str, instance: str) -> Tracing:
    """Of the process with that name, as its settings want it. Raises SettingsError, see `check_tracing`."""
    if not options.otlp_endpoint:
        return Tracing()
    check_tracing(options)
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    from app.tracing.export_queue import ExportQueue
    from app.tracing.exporters import exporter_of
    from app.tracing.log_context import add_current_span
    from app.tracing.open_telemetry import OpenTelemetryTracer
    from app.tracing.span_figures import SpanFigures

    figures = SpanFigures()
    queue = ExportQueue(exporter_of(options), figures, spans_max=options.trace_queue_max)
    names = {"service.name": service, "service.namespace": "acklog", "service.version": __version__}
    provider = TracerProvider(
        resource=Resource.create({**names, "service.instance.id": instance}), shutdown_on_exit=False
    )
    provider.add_span_processor(queue)
    log_also(add_current_span)

    async def close() -> None:
        await queue.close(timeout_ms=options.trace_flush_timeout_ms)

    tracer = OpenTelemetryTracer(provider, entropy, sample_per_mille=options.trace_sample_per_mille)
    return Tracing(tracer, (figures,), close)
