"""Whether and where traces go, as every process of the server is told it."""

from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import check_fields, number, text, where_to_set

HTTP, GRPC = "http/protobuf", "grpc"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Where there is no endpoint nothing is traced. What the OpenTelemetry exporters themselves read in the environment
    (OTEL_EXPORTER_OTLP_HEADERS, …_CERTIFICATE, OTEL_RESOURCE_ATTRIBUTES) is for them."""

    otlp_endpoint: str = text(
        "", "URL of the OTLP receiver that gets traces, such as http://collector:4318; empty: nothing is traced"
    )
    otlp_protocol: str = text(HTTP, f"what it speaks: {HTTP} or {GRPC}")
    otlp_timeout_ms: int = number(5_000, 100, 60_000, "how long it may take to accept one batch of spans")
    trace_sample_per_mille: int = number(
        10, 0, 1_000, "how many of 1,000 requests begin a trace; those that bring a sampled `traceparent` all go on"
    )
    trace_queue_max: int = number(4_096, 1, 1_000_000, "ended spans that wait to be exported; further ones are dropped")
    trace_flush_timeout_ms: int = number(
        2_000, 0, 60_000, "how long a stop waits until the spans that wait are exported"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.otlp_protocol not in {HTTP, GRPC}:
            raise SettingsError(
                f"otlp_protocol is {self.otlp_protocol!r}, it may be {HTTP} or {GRPC} ({where_to_set('otlp_protocol')})"
            )
        if self.otlp_endpoint and not _is_url(self.otlp_endpoint):
            raise SettingsError(
                f"otlp_endpoint is {self.otlp_endpoint!r}, it must be a URL such as http://collector:4318 "
                f"({where_to_set('otlp_endpoint')})"
            )


def _is_url(given: str) -> bool:
    try:
        parts = urlsplit(given)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


TRACE_GROUPS = {"Where traces go": tuple(each.name for each in fields(TraceOptions))}
