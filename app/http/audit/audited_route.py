"""Around each administrative endpoint: the answer waits until it is recorded what was done."""

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.audit.audit_mode import AuditMode
from app.http.audit.act import ACT, Act
from app.http.audit.administrative import is_told_by_body, is_told_by_endpoint
from app.http.audit.problem_facts import problem_facts
from app.http.audit.request_facts import facts_of
from app.http.description.needed_rights import NEEDED
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problems import problem_of
from app.http.exchange.request import RequestHeaders, principal_of
from cluster.errors import ServerError


class _HeldAnswer:
    """An answer that is not sent yet. Those of administrative calls are small."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self.status = 500
        self.body = b""

    async def send(self, message: Message) -> None:
        self._messages.append(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message.get("body", b"")

    async def let_go(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


class AuditedRoute:
    """The ASGI application of one route, around that which the framework has for it."""

    def __init__(self, app: ASGIApp, operation: str, services: HttpServices) -> None:
        self._app = app
        self._services = services
        self._needed = NEEDED[operation]
        self._begins_at_once = not is_told_by_endpoint(operation)
        self._is_told_by_body = is_told_by_body(operation)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        act = self._act(scope, receive)
        if act is None:
            await self._app(scope, receive, send)
            return
        scope[ACT] = act
        held = _HeldAnswer()
        try:
            if self._begins_at_once:
                await act.begin({})
        except ServerError as error:
            await problem_of(error)(scope, receive, held.send)
        else:
            await self._do(act, scope, receive, held)
        if self._is_act(act, held.status):
            await act.end(held.status, problem_facts(held.status, held.body))
        await held.let_go(send)

    async def _do(self, act: Act, scope: Scope, receive: Receive, held: _HeldAnswer) -> None:
        try:
            await self._app(scope, receive, held.send)
        except Exception as error:  # what nobody expected is recorded as well, and handled where it always is
            failure = problem_of(error)
            if self._is_act(act, failure.status_code):
                await act.end(failure.status_code, problem_facts(failure.status_code, bytes(failure.body)))
            raise

    def _act(self, scope: Scope, receive: Receive) -> Act | None:
        """None where nothing is recorded, and where nobody knows who asks: that is a refusal."""
        services = self._services
        if services.audit_journal.mode is AuditMode.OFF:
            return None
        try:
            principal = principal_of(RequestHeaders(Request(scope, receive)), services.callers)
        except ServerError:
            return None
        gateway, journal = services.gateway, services.audit_journal
        facts = facts_of(scope, principal, journal.new_id(), gateway.clock.now_ms())
        return Act(facts, self._needed, principal, journal, gateway.metadata)

    def _is_act(self, act: Act, status: int) -> bool:
        """What is refused is a refusal, and recorded with all others, unless it was intended already. Where only the
        body says what it is, one that could not be read is nothing."""
        if act.is_intended:
            return True
        return status not in (401, 403) and (act.has_begun or not self._is_told_by_body)


def audit_routes(app: FastAPI, services: HttpServices) -> None:
    """Of the whole application, once all its routes are there."""
    for route in app.router.routes:
        operation = route.operation_id if isinstance(route, APIRoute) and route.include_in_schema else None
        if isinstance(route, APIRoute) and operation is not None and NEEDED[operation].is_administrative:
            route.app = AuditedRoute(route.app, operation, services)
