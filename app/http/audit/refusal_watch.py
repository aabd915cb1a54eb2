"""What becomes of refused requests, whichever way they took through the gateway."""

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Receive, Scope

from app.audit.audit_record import AuditResult
from app.auth.principal import Principal
from app.http.audit.act import ACT, Act
from app.http.audit.problem_facts import problem_facts
from app.http.audit.request_facts import facts_of
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from cluster.errors import ServerError


class RefusalWatch:
    """Told of each answer 401 and 403 once it is given."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def __call__(self, scope: Scope, receive: Receive, status: int, body: bytes) -> None:
        refusals = self._services.audit_refusals
        act = scope.get(ACT)
        if not refusals.is_recorded or (isinstance(act, Act) and act.is_intended):
            return
        services = self._services
        journal, clock = services.audit_journal, services.gateway.clock
        problem = problem_facts(status, body)
        facts = facts_of(scope, self._principal(scope, receive), journal.new_id(), clock.now_ms())
        refusals.note(
            replace(
                facts,
                status=status,
                result=AuditResult.REFUSED,
                code=problem.code,
                field=problem.field,
                detail=problem.detail,
            )
        )

    def _principal(self, scope: Scope, receive: Receive) -> Principal | None:
        try:
            return principal_of(RequestHeaders(Request(scope, receive)), self._services.callers)
        except ServerError:
            return None
