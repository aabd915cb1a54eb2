"""What every endpoint does first: who asks, and with which headers."""

from starlette.requests import Request

from app.auth.callers import Callers
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal
from app.http.exchange.caller_refusal import CALLER, CallerRefusal, refusal_of
from app.http.exchange.trace_context import trace_context_of
from cluster.errors import ServerError

CERTIFICATE = "acklog.certificate"
"""Where the server puts the certificate of a request's connection in its scope, if there is one."""


class RequestHeaders:
    """A request's headers by lower-case name. The framework's own mapping goes through the list for every lookup,
    which costs a single send more than its parsing does."""

    __slots__ = ("_all", "_by_name", "certificate", "scope")

    def __init__(self, request: Request) -> None:
        self.scope = request.scope
        self._all: list[tuple[bytes, bytes]] = request.scope["headers"]
        self._by_name: dict[bytes, bytes] = dict(self._all)
        self.certificate: ClientCertificate | None = request.scope.get(CERTIFICATE)

    def get(self, name: bytes) -> str | None:
        """The value; the last one where a client repeats a header."""
        value = self._by_name.get(name)
        return None if value is None else value.decode("latin-1")

    def is_repeated(self, name: bytes) -> bool:
        return sum(each == name for each, _ in self._all) > 1

    def trace(self) -> dict[str, str] | None:
        """The request's place in a distributed trace (W3C Trace Context), to travel with its messages."""
        return trace_context_of(self._all) if b"traceparent" in self._by_name else None


def principal_of(headers: RequestHeaders, callers: Callers) -> Principal:
    """Who asks, found out once a request. Raises ServerError UNAUTHENTICATED, TOKEN_EXPIRED, KEYS_UNAVAILABLE."""
    caller = headers.scope.get(CALLER)
    if caller is None:
        caller = headers.scope[CALLER] = _caller_of(headers, callers)
    if isinstance(caller, CallerRefusal):
        raise caller.error()
    principal: Principal = caller
    return principal


def principal_now(headers: RequestHeaders, callers: Callers) -> Principal:
    """Who asks, found out anew: for a request that has waited. Raises as `principal_of` does."""
    return callers.of(headers.get(b"authorization"), headers.certificate)


def _caller_of(headers: RequestHeaders, callers: Callers) -> Principal | CallerRefusal:
    try:
        return principal_now(headers, callers)
    except ServerError as error:
        return refusal_of(error)
