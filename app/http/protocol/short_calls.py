"""Calls of a short way that wait for something: each in one task, which begins with the call and ends with its answer.

What `ObservedApplication` and `DirectCalls` are to the application's requests this is to them: what is raised becomes a
problem, each is counted, and who is refused is told of.
"""

import asyncio
from collections.abc import Awaitable, Callable

from app.http.answers.receive import CHUNK_BYTES
from app.http.exchange.http_services import HttpServices
from app.http.exchange.observation import GONE_STATUS, REFUSED_STATUSES, OnRefused
from app.http.exchange.problems import problem_of
from app.http.exchange.responses import BytesResponse
from app.http.protocol.short_exchange import ShortExchange, ShortOutcome
from app.http.protocol.short_way import Answer

Do = Callable[[ShortExchange], Awaitable[ShortOutcome]]
Failed = Callable[[ShortExchange, Exception], BytesResponse]
"""What is answered to somebody whose call raised that."""


def _problem(_exchange: ShortExchange, error: Exception) -> BytesResponse:
    return problem_of(error)


class CallRoute:
    """Of the call's endpoint: `path` is the label of metrics."""

    __slots__ = ("method", "path", "route")

    def __init__(self, method: str, path: str, route: object) -> None:
        self.method = method
        self.path = path
        self.route = route


class ShortCalls:
    """`on_refused` is told of answers that are refusals by their status."""

    def __init__(self, services: HttpServices, on_refused: OnRefused) -> None:
        self._metrics = services.metrics
        self._on_refused = on_refused
        self._write_timeout_ms = services.settings.write_timeout_ms

    def begin(self, exchange: ShortExchange, route: CallRoute, do: Do, failed: Failed = _problem) -> bool:
        """The hold and the answer are the call's from here on."""
        exchange.answer.run(self._serve(exchange, route, do, failed))
        return True

    async def _serve(self, exchange: ShortExchange, route: CallRoute, do: Do, failed: Failed) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        status = GONE_STATUS
        answer = exchange.answer
        try:
            try:
                response, release = await do(exchange)
            except Exception as error:
                response, release = failed(exchange, error), None
            if response.status_code in REFUSED_STATUSES:
                self._on_refused(exchange.scope_of(route.route), response.status_code, bytes(response.body))
            if release is None:
                status = response.status_code
                answer.write(status, response.raw_headers, bytes(response.body))
            elif await self._is_taken(answer, response, release):
                status = response.status_code
        except BaseException:
            answer.drop()
            raise
        finally:
            exchange.hold.release()
            self._metrics.count_request(route.path, route.method, status, loop.time() - begin)

    async def _is_taken(self, answer: Answer, response: BytesResponse, release: Callable[[], Awaitable[None]]) -> bool:
        """Write what goes back where nobody takes it."""
        is_taken = False
        try:
            await asyncio.sleep(0)  # what was there at once has left the loop no turn to see the client go
            body = bytes(response.body)
            if answer.is_gone:
                answer.drop()
            elif len(body) <= CHUNK_BYTES:
                answer.write(response.status_code, response.raw_headers, body)
                is_taken = True
            else:
                is_taken = await answer.write_in_pieces(
                    response.status_code, response.raw_headers, body, timeout_ms=self._write_timeout_ms
                )
        finally:
            if not is_taken:
                await release()
        return is_taken
