"""What becomes of refused requests, whichever way they took through the gateway."""

from collections.abc import Sequence

from msgspec.structs import replace
from starlette.requests import Request
from starlette.types import Scope

from acklog.wire.identifiers import Receipt
from acklog.wire.limits import NAME_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.audit.audit_record import AuditRecord, AuditResult, shown
from app.auth.principal import Principal
from app.calls.send_result import SendResult
from app.calls.settle import Item
from app.http.audit.act import ACT, Act
from app.http.audit.problem_facts import ProblemFacts, problem_facts
from app.http.audit.refused_things import tell_about, told_about
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

    def answered(self, scope: Scope, status: int, body: bytes) -> None:
        """Told of each answer 401 and 403."""
        act = scope.get(ACT)
        if self._refusals.is_recorded and not (isinstance(act, Act) and act.is_intended):
            self.refused(scope, self._principal(scope), status, problem_facts(status, body))

    def in_part(self, scope: Scope, items: Sequence[Item], results: Sequence[ServerError | None]) -> None:
        """Told of what became of several things in one request: of some that are refused the answer is no refusal."""
        refused = [
            (item, each) for item, each in zip(items, results, strict=True) if each is not None and _is_refusal(each)
        ]
        if refused and self._refusals.is_recorded:
            answer = results[0] if all(each is not None for each in results) else None
            self._tell_part(scope, self._names_of(refused[0][0]), [fault for _, fault in refused], answer)

    def sent_in_part(self, scope: Scope, sent: SendResult) -> None:
        """Told of messages of one request that are not stored: the same of those that are refused."""
        refused = [fault for _, fault in sorted(sent.faults.items()) if _is_refusal(fault)]
        if refused and self._refusals.is_recorded:
            answer = sent.first_fault if len(sent.faults) == sent.count else None
            self._tell_part(scope, {"queue": sent.topic.name}, refused, answer)

    def _tell_part(
        self, scope: Scope, names: dict[str, str], refused: Sequence[ServerError], answer: ServerError | None
    ) -> None:
        """`answer`: where nothing was done, what the answer was; where it is of a refusal, `answered` records it."""
        tell_about(scope, names, things=len(refused) if len(refused) > 1 else 0)
        fault = refused[0]
        if answer is not fault:
            facts = ProblemFacts(fault.code.name, fault.field or "", fault.detail)
            status = IN_PART_STATUS if answer is None else answer.code.status
            self.refused(scope, self._principal(scope), status, facts)

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

    def refused(self, scope: Scope, principal: Principal | None, status: int, problem: ProblemFacts) -> None:
        """Told of a refusal, and of whose request it was; None where nobody knows."""
        if not self._refusals.is_recorded:
            return
        journal, clock = self._services.audit_journal, self._services.gateway.clock
        facts = facts_of(scope, principal, journal.new_id(), clock.now_ms())
        act, about = scope.get(ACT), told_about(scope)
        of_act = act.names if isinstance(act, Act) else {}
        names = {kind: shown(name, NAME_LENGTH_MAX) for kind, name in about.names.items()}
        self._refusals.note(
            replace(
                facts,
                names=of_act | names | facts.names,
                count=about.things,
                status=status,
                result=AuditResult.REFUSED,
                code=problem.code,
                field=problem.field,
                detail=problem.detail,
            )
        )

    def _names_of(self, item: Item) -> dict[str, str]:
        """The answer is without them: an id says nothing of a name to who has no right to it."""
        names: dict[str, str] = {}
        if isinstance(item, ServerError):
            return names
        metadata = self._services.gateway.metadata
        topic = metadata.topic_by_id(item.topic_id)
        group = metadata.group_by_id(item.group_id) if isinstance(item, Receipt) else None
        if topic is not None:
            names["topic"] = topic.name
        if group is not None:
            names["group"] = group.name
        return names

    def _principal(self, scope: Scope) -> Principal | None:
        try:
            return principal_of(RequestHeaders(Request(scope)), self._services.callers)
        except ServerError:
            return refused_principal(scope)


def _is_refusal(fault: ServerError) -> bool:
    return fault.code is ProblemCode.FORBIDDEN
