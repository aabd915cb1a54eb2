"""One administrative act, from the request to its record."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from acklog.wire.limits import NAME_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.audit.audit_mode import AuditMode
from app.audit.audit_record import AuditRecord, AuditResult, result_of, shown
from app.audit.changes import Settings, changes
from app.auth.principal import Principal
from app.http.audit.admission import holds_needed
from app.http.audit.problem_facts import ProblemFacts
from app.http.audit.snapshots import snapshot
from app.http.description.needed_rights import Needed
from app.services.audit_journal import AuditJournal
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView

ACT = "acklog.act"
"""Where a request's scope holds its act."""

NOT_RECORDED_RETRY_MS = 1_000
_NAMED_IN_BODY = {"topic": "topic", "name": "token"}
"""What stands in a body, and nowhere in the path, of what the act is done to."""


class Act:
    """`facts` are those of its request, `needed` the rights that it takes. `has_begun`: nothing is done before;
    `is_intended`: the log says that it is going to be."""

    def __init__(
        self,
        facts: AuditRecord,
        needed: Needed,
        principal: Principal,
        journal: AuditJournal,
        metadata: MetadataView,
    ) -> None:
        self._facts = facts
        self._needed = needed
        self._principal = principal
        self._journal = journal
        self._metadata = metadata
        self._before: Settings | None = None
        self.has_begun = False
        self.is_intended = False

    @property
    def names(self) -> dict[str, str]:
        """What it is done to, as far as is known by now."""
        return self._facts.names

    @property
    def operation(self) -> str:
        return self._facts.operation

    async def begin(self, asked: Mapping[str, object]) -> None:
        """To be called before anything is done. `asked` is what the request says of what is to be done, beside its
        query. Raises ServerError AUDIT_UNAVAILABLE where it is required that the intention is recorded, and it cannot
        be: then nothing may be done."""
        facts = self._facts = replace(self._facts, asked=self._facts.asked | dict(asked))
        facts.names = _named(asked) | facts.names
        self.has_begun = True
        if not self._is_admitted():
            return  # nor is anything looked up, so that time does not tell what there is
        self._before = snapshot(self._metadata, facts.names)
        if self._journal.mode is not AuditMode.REQUIRED:
            return
        self.is_intended = True
        if not await self._journal.write(replace(facts, result=AuditResult.INTENDED)):
            detail = "the audit log cannot be written now, and nothing is done that is not recorded"
            raise ServerError(ProblemCode.AUDIT_UNAVAILABLE, detail, retry_after_ms=NOT_RECORDED_RETRY_MS)

    async def end(self, status: int, problem: ProblemFacts, result: AuditResult | None = None) -> None:
        """`result` None: as the status and the problem say. Returns once its record is durable, or the time for that is
        over: then it waits in the journal."""
        is_undone = problem.code == ProblemCode.AUDIT_UNAVAILABLE.name
        record = replace(
            self._facts,
            status=status,
            result=result or result_of(status, problem.code),
            code=problem.code,
            field=problem.field,
            detail=problem.detail if status in (401, 403) else "",
            changed=self._changed(),
        )
        if is_undone:
            self._journal.put(record)  # who waited for the intention in vain does not wait for this one
        else:
            await self._journal.write(record)

    def _changed(self) -> dict[str, list[Any]]:
        if self._before is None:
            return {}
        return changes(self._before, snapshot(self._metadata, self._facts.names))

    def _is_admitted(self) -> bool:
        return holds_needed(self._principal, self._needed, self._facts.names)


def _named(asked: Mapping[str, object]) -> dict[str, str]:
    return {kind: shown(str(asked[field]), NAME_LENGTH_MAX) for field, kind in _NAMED_IN_BODY.items() if field in asked}
