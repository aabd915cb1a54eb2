"""An etcd that says what a test tells it to: for the failures that a real one has at its own times only."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.methods import (
    AUTHENTICATE,
    COMPACT,
    LEASE_GRANT,
    LEASE_KEEP_ALIVE,
    LEASE_REVOKE,
    RANGE,
    TXN,
    WATCH,
    EtcdMethod,
)

Context = grpc.aio.ServicerContext[Any, Any]
Unary = Callable[[Any, Context], Awaitable[Any]]
Stream = Callable[[AsyncIterator[Any], Context], AsyncIterator[Any]]

_UNARY = (RANGE, TXN, COMPACT, LEASE_GRANT, LEASE_REVOKE, AUTHENTICATE)


class FakeEtcd:
    """On a free port. `unary` and `streams` hold what answers, by method; `calls` counts what came in.

    Without an answer of its own, a transaction succeeds at the next revision, and anything else is not implemented.
    """

    def __init__(self) -> None:
        self.unary: dict[EtcdMethod[Any, Any], Unary] = {TXN: self._succeed}
        self.streams: dict[EtcdMethod[Any, Any], Stream] = {}
        self.calls: Counter[EtcdMethod[Any, Any]] = Counter()
        self.tokens: list[str] = []
        self.port = 0
        self._revision = 1
        self._server = grpc.aio.server()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> "FakeEtcd":
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)

    def failing(self, *failures: tuple[grpc.StatusCode, str], then: Unary | None = None) -> Unary:
        """One failure per call, in this order, then what `then` answers (a transaction's success unless given)."""
        left = list(failures)
        answer = then or self._succeed

        async def fail(request: Any, context: Context) -> Any:
            if left:
                code, message = left.pop(0)
                await context.abort(code, message)
            return await answer(request, context)

        return fail

    async def hang(self, request: Any, context: Context) -> Any:
        """Never answers."""
        await asyncio.Event().wait()

    async def _succeed(self, request: Any, context: Context) -> Any:
        self._revision += 1
        return messages.TxnResponse(succeeded=True, header=messages.ResponseHeader(revision=self._revision))


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, fake: FakeEtcd) -> None:
        self._fake = fake
        self._handlers = {method.path: self._unary(method) for method in _UNARY}
        self._handlers |= {method.path: self._stream(method) for method in (WATCH, LEASE_KEEP_ALIVE)}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        metadata = dict(handler_call_details.invocation_metadata or ())
        assert metadata["hasleader"] == "true"
        self._fake.tokens.append(str(metadata.get("token", "")))
        return self._handlers.get(handler_call_details.method)

    def _unary(self, method: EtcdMethod[Any, Any]) -> Any:
        async def answer(request: Any, context: Context) -> Any:
            self._fake.calls[method] += 1
            handler = self._fake.unary.get(method)
            if handler is None:
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the test gave no answer")
                raise AssertionError("abort raises")
            return await handler(request, context)

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=method.request.FromString,
            response_serializer=method.answer.SerializeToString,
        )

    def _stream(self, method: EtcdMethod[Any, Any]) -> Any:
        async def answer(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            self._fake.calls[method] += 1
            async for each in self._fake.streams[method](requests, context):
                yield each

        return grpc.stream_stream_rpc_method_handler(
            answer,
            request_deserializer=method.request.FromString,
            response_serializer=method.answer.SerializeToString,
        )
