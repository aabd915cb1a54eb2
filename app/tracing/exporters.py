"""Exporters of OTLP, by what the settings say. Each is a package of its own, imported when it is wanted."""

from collections.abc import Callable

from opentelemetry.sdk.trace.export import SpanExporter

from app.configuration.trace_options import GRPC, TraceOptions

TRACES_PATH = "/v1/traces"


def exporter_kind(options: TraceOptions) -> Callable[..., SpanExporter]:
    """What makes the exporter. Raises ModuleNotFoundError for one that is not installed."""
    if options.otlp_protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter


def exporter_of(options: TraceOptions) -> SpanExporter:
    """Raises ModuleNotFoundError, see `exporter_kind`."""
    endpoint = options.otlp_endpoint if options.otlp_protocol == GRPC else traces_url(options.otlp_endpoint)
    return exporter_kind(options)(endpoint=endpoint, timeout=options.otlp_timeout_ms / 1000)


def traces_url(endpoint: str) -> str:
    """As OTEL_EXPORTER_OTLP_ENDPOINT has it: a base, unless it names the traces already."""
    base = endpoint.rstrip("/")
    return base if base.endswith(TRACES_PATH) else base + TRACES_PATH
