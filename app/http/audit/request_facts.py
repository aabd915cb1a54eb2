"""What a request says of itself, for a record: who, from where, on what."""

from urllib.parse import parse_qsl

from starlette.types import Scope

from acklog.wire.limits import NAME_LENGTH_MAX
from app.audit.asked import asked_in_query
from app.audit.audit_record import AuditedPrincipal, AuditRecord, AuditResult, shown
from app.auth.principal import Principal
from app.http.description.needed_rights import Needed, needs_of
from app.http.exchange.trace_context import trace_context_of
from app.http.parsing.query import Parameter

REQUEST_ID_LENGTH_MAX = 128
QUERY_FIELDS_MAX = 100
_ON = frozenset({"group", "queue", "topic"})
"""Of a query: what the call is about."""


def facts_of(scope: Scope, principal: Principal | None, record_id: str, time_ms: int) -> AuditRecord:
    """A record without its result. `address` is the peer's: of what a proxy says of somebody behind it nobody here
    knows whether it is true."""
    route = scope.get("route")
    operation = getattr(route, "operation_id", None) or ""
    headers = {name: value for name, value in scope["headers"] if name == b"x-request-id"}
    trace = trace_context_of(scope["headers"])
    client = scope.get("client")
    query = _query_of(scope, operation)
    names = _names(scope, query)
    needed: Needed | None = getattr(route, "needed", None)  # of a route that is not of Acklog's own API
    needs = needs_of(operation, names.get("topic")) if needed is None else needed.needs
    return AuditRecord(
        id=record_id,
        time=time_ms,
        result=AuditResult.UNKNOWN,
        operation=operation,
        method=shown(scope["method"], 20),
        route=getattr(route, "path", ""),
        names=names,
        needs=[str(need) for need in needs],
        principal=None if principal is None else audited(principal),
        address="" if client is None else str(client[0]),
        request_id=shown(headers.get(b"x-request-id", b"").decode("latin-1"), REQUEST_ID_LENGTH_MAX),
        trace_id="" if trace is None else trace["traceparent"].split("-")[1],
        asked=asked_in_query(query),
    )


def audited(principal: Principal) -> AuditedPrincipal:
    return AuditedPrincipal(principal.name, principal.kind.value, principal.token_id)


def _names(scope: Scope, query: list[tuple[str, str]]) -> dict[str, str]:
    found = {name: value for name, value in query if name in _ON} | scope.get("path_params", {})
    return {name: shown(str(value), NAME_LENGTH_MAX) for name, value in found.items() if name != "key"}


def _query_of(scope: Scope, operation: str) -> list[tuple[str, str]]:
    """What the call takes, and nothing else."""
    from app.http.description.operations import OPERATIONS  # of the whole API: with the first record

    if operation not in OPERATIONS:
        return []
    known = OPERATIONS[operation].query.by_name
    try:
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        return []  # the endpoint says what is wrong with it
    return [(name, value) for name, value in pairs if name in known and _is_one(value, known[name])]


def _is_one(value: str, parameter: Parameter) -> bool:
    try:
        parameter.parse(value)
    except ValueError:
        return False
    return True
