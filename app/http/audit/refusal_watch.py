"""What becomes of refused requests, whichever way they took through the gateway."""

from collections.abc import Sequence

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Receive, Scope

from acklog.wire.problems import ProblemCode
from app.audit.audit_record import AuditRecord, AuditResult
from app.auth.principal import Principal
from app.http.audit.act import ACT, Act
from app.http.audit.problem_facts import ProblemFacts, problem_facts
from app.http.audit.request_facts import facts_of
from app.http.exchange.caller_refusal import refused_principal
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from cluster.errors import ServerError

IN_PART_STATUS = 207


class RefusalWatch:
    """Nothing of it is done for requests that are allowed."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services
        self._refusals = services.audit_refusals

    def answered(self, scope: Scope, receive: Receive, status: int, body: bytes) -> None:
        """Told of each answer 401 and 403."""
        act = scope.get(ACT)
        if self._refusals.is_recorded and not (isinstance(act, Act) and act.is_intended):
            self._note(scope, receive, status, problem_facts(status, body))

    def in_part(self, request: Request, results: Sequence[ServerError | None]) -> None:
        """Told of what became of several things in one request: of some that are refused the answer is no refusal."""
        fault = next((each for each in results if each is not None and each.code is ProblemCode.FORBIDDEN), None)
        is_answered = all(each is not None for each in results) and results[0] is fault
        if fault is not None and not is_answered and self._refusals.is_recorded:
            facts = ProblemFacts(fault.code.name, fault.field or "", fault.detail)
            self._note(request.scope, request.receive, IN_PART_STATUS, facts)

    def page_refused(self, address: str, fault: ServerError) -> None:
        """Told of requests of other sites' pages, which no application ever sees."""
        if self._refusals.is_recorded:
            record = AuditRecord(
                id=self._services.audit_journal.new_id(),
                time=self._services.gateway.clock.now_ms(),
                result=AuditResult.REFUSED,
                address=address,
                status=fault.code.status,
                code=fault.code.name,
                field=fault.field or "",
                detail=fault.detail,
            )
            self._refusals.note(record)

    def _note(self, scope: Scope, receive: Receive, status: int, problem: ProblemFacts) -> None:
        journal, clock = self._services.audit_journal, self._services.gateway.clock
        facts = facts_of(scope, self._principal(scope, receive), journal.new_id(), clock.now_ms())
        self._refusals.note(
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
            return refused_principal(scope)
