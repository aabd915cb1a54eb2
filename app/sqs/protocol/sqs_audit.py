"""Calls of SQS in the audit log: administrative ones as acts, and whatever is refused."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
from starlette.types import Scope

from app.audit.audit_mode import AuditMode
from app.audit.audit_record import AuditResult, shown
from app.audit.plain_value import plain
from app.auth.principal import Principal
from app.http.audit.act import ACT, Act
from app.http.audit.problem_facts import ProblemFacts
from app.http.audit.refusal_watch import RefusalWatch
from app.http.audit.refused_things import tell_about, told_about
from app.http.audit.request_facts import facts_of
from app.http.exchange.http_services import HttpServices
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.sqs_route import SqsRoute
from app.sqs.shapes import FailedEntry
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError

_Result = TypeVar("_Result")

REFUSALS = frozenset(
    {
        SqsErrorCode.ACCESS_DENIED,
        SqsErrorCode.INVALID_SECURITY,
        SqsErrorCode.MISSING_AUTHENTICATION_TOKEN,
        SqsErrorCode.INCOMPLETE_SIGNATURE,
        SqsErrorCode.SIGNATURE_DOES_NOT_MATCH,
        SqsErrorCode.INVALID_CLIENT_TOKEN_ID,
        SqsErrorCode.EXPIRED_TOKEN,
        SqsErrorCode.REQUEST_EXPIRED,
    }
)
ASKED = frozenset({"Attributes", "Tags", "TagKeys", "Label", "AWSAccountIds", "Actions", "tags"})
"""Of a call's input: what is to be done. Nothing of it is a message."""

OK = 200
_DENIED = SqsErrorCode.ACCESS_DENIED.value.code


class SqsAudit:
    def __init__(self, services: HttpServices) -> None:
        self._services = services
        self._watch = RefusalWatch(services)

    async def done(
        self,
        scope: Scope,
        route: SqsRoute,
        principal: Principal,
        asked: msgspec.Struct,
        do: Callable[[], Awaitable[_Result]],
    ) -> _Result:
        """What `do` returns, once it is recorded where it is an administrative act. Raises what it raises."""
        journal, gateway = self._services.audit_journal, self._services.gateway
        if not route.needed.is_administrative or journal.mode is AuditMode.OFF:
            return await do()
        facts = facts_of(scope, principal, journal.new_id(), gateway.clock.now_ms())
        scope[ACT] = act = Act(facts, route.needed, principal, journal, gateway.metadata)
        try:
            await act.begin(_asked(asked))
            result = await do()
        except Exception as error:
            await _end(act, error, sqs_error_of(error))
            raise
        await act.end(OK, ProblemFacts())
        return result

    def refused_in_part(self, scope: Scope, principal: Principal, failed: Sequence[FailedEntry]) -> None:
        """Told of the entries of a batch that failed: the answer is none that is refused."""
        refused = [entry for entry in failed if entry.code == _DENIED]
        if refused:
            names = told_about(scope).names  # by the short way; by the other they are the path's
            tell_about(scope, names, things=len(refused) if len(refused) > 1 else 0)
            self._watch.refused(scope, principal, OK, ProblemFacts(_DENIED, detail=shown(refused[0].message or "")))

    def refused(self, scope: Scope, principal: Principal | None, error: SqsError) -> None:
        """Told of each failure; most are no refusals."""
        act = scope.get(ACT)
        if error.code in REFUSALS and not (isinstance(act, Act) and act.is_intended):
            self._watch.refused(scope, principal, error.code.value.status, _facts(error))


async def _end(act: Act, error: Exception, failure: SqsError) -> None:
    """What is refused is recorded with all refusals, unless it was intended already."""
    if failure.code in REFUSALS and not act.is_intended:
        return
    facts = _facts(failure)
    if isinstance(error, ServerError):
        facts = ProblemFacts(error.code.name, detail=shown(error.detail))
    await act.end(failure.code.value.status, facts, _result_of(failure))


def _result_of(failure: SqsError) -> AuditResult:
    if failure.code in REFUSALS:
        return AuditResult.REFUSED
    return AuditResult.UNKNOWN if failure.code is SqsErrorCode.INTERNAL_FAILURE else AuditResult.FAILED


def _facts(error: SqsError) -> ProblemFacts:
    return ProblemFacts(error.code.value.code, detail=shown(error.message))


def _asked(asked: msgspec.Struct) -> dict[str, object]:
    members = msgspec.to_builtins(asked)
    return {name: plain(value) for name, value in members.items() if name in ASKED}
