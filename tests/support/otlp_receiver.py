"""A receiver of OTLP that keeps what it gets: over HTTP, and over gRPC."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Export
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse as Accepted
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PATIENCE_SECONDS = 60
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """`parent` "" begins a trace. `links` are span ids; `resource` is what the process says of itself."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent: str
    links: list[str]
    events: list[str]
    attributes: dict[str, Any]
    resource: dict[str, Any]

    @property
    def service(self) -> str:
        return str(self.resource["service.name"])


class OtlpReceiver:
    """`url` is what the servers are told."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[ReceivedSpan] = []
        self._changed = asyncio.Event()

    def take(self, export: Export) -> None:
        for each in export.resource_spans:
            resource = _values(each.resource.attributes)
            for scope in each.scope_spans:
                self.spans += [_received(span, resource) for span in scope.spans]
        self._changed.set()

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    async def until(self, condition: Callable[[], object]) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def http_receiver() -> AsyncIterator[OtlpReceiver]:
    receiver = OtlpReceiver()

    async def export(request: web.Request) -> web.Response:
        receiver.take(Export.FromString(await request.read()))
        return web.Response(body=Accepted().SerializeToString(), content_type="application/x-protobuf")

    application = web.Application()
    application.router.add_post("/v1/traces", export)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    receiver.url = f"http://{HOST}:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        await runner.cleanup()


class _Servicer(TraceServiceServicer):
    def __init__(self, receiver: OtlpReceiver) -> None:
        self._receiver = receiver

    async def Export(self, request: Export, context: Any) -> Accepted:  # noqa: N802 - gRPC's name
        self._receiver.take(request)
        return Accepted()


@asynccontextmanager
async def grpc_receiver() -> AsyncIterator[OtlpReceiver]:
    receiver = OtlpReceiver()
    server = grpc.aio.server()
    add_TraceServiceServicer_to_server(_Servicer(receiver), server)
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    receiver.url = f"http://{HOST}:{port}"
    try:
        yield receiver
    finally:
        await server.stop(None)


def _received(span: Span, resource: dict[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        [link.span_id.hex() for link in span.links],
        [event.name for event in span.events],
        _values(span.attributes),
        resource,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each) for each in attributes}


def _value(attribute: KeyValue) -> Any:
    return getattr(attribute.value, attribute.value.WhichOneof("value") or "string_value")
