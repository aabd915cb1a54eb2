"""One request that goes a short way, and what becomes of it."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.types import Scope

from app.auth.principal import Principal
from app.http.audit.refused_things import tell_about
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CALLER
from app.http.exchange.responses import BytesResponse
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_way import Answer


class ShortOutcome(NamedTuple):
    """`release`: what is to be done where nobody takes the answer."""

    response: BytesResponse
    release: Callable[[], Awaitable[None]] | None = None


class ShortExchange:
    """`about` are the things that a refusal would be about, where neither path nor query says so."""

    __slots__ = ("_scope", "about", "answer", "body", "head", "hold")

    def __init__(self, head: RequestHead, body: bytes, hold: Hold, answer: Answer) -> None:
        self.head = head
        self.body = body
        self.hold = hold
        self.answer = answer
        self.about: dict[str, str] = {}
        self._scope: Scope | None = None

    @property
    def principal(self) -> Principal:
        return self.hold.principal

    def scope_of(self, route: object) -> Scope:
        """For the audit log, which knows requests by their scopes; the same one each time."""
        if self._scope is None:
            self._scope = self.head.scope_of(route)
            self._scope[CALLER] = self.principal
            if self.about:
                tell_about(self._scope, self.about)
        return self._scope
