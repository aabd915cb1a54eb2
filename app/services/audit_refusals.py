"""Refusals on their way to the audit log: nobody waits for their records, and a flood of them is summed up."""

import asyncio

from app.audit.audit_mode import AuditMode
from app.audit.audit_record import AuditedPrincipal, AuditRecord, AuditResult
from app.audit.refusal_sums import RefusalKind, RefusalSum, RefusalSums
from app.gateway.audit_figures import AuditFigures
from app.gateway.dependencies import Gateway
from app.services.audit_journal import AuditJournal


class AuditRefusals:
    def __init__(self, gateway: Gateway, journal: AuditJournal, figures: AuditFigures) -> None:
        settings = gateway.settings
        self._clock = gateway.clock
        self._journal = journal
        self._sums = RefusalSums(
            interval_ms=settings.audit_refusal_interval_ms,
            in_full_max=settings.audit_refusals_in_full_max,
            kinds_max=settings.audit_refusal_kinds_max,
        )
        self._task: asyncio.Task[None] | None = None
        self._figures = figures

    @property
    def is_recorded(self) -> bool:
        return self._journal.mode is not AuditMode.OFF

    def note(self, record: AuditRecord) -> None:
        """`record` is what is told of it where it is told in full."""
        who = record.principal
        name, kind, token_id = (None, "", "") if who is None else (who.name, who.kind, who.token_id)
        refusal = RefusalKind(name, kind, token_id, record.address, record.code)
        if self._sums.note(refusal, record.operation, self._clock.now_ms()):
            self._journal.put(record)
        else:
            self._figures.count_summed()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tell_sums(), name="audit refusals")

    async def close(self) -> None:
        """Tell what is summed up by now."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._tell(self._sums.all())

    async def _tell_sums(self) -> None:
        try:
            while (end_ms := self._sums.next_end_ms()) is not None:
                await self._clock.sleep(max(0, end_ms - self._clock.now_ms()))
                self._tell(self._sums.ended(self._clock.now_ms()))
        finally:
            self._task = None

    def _tell(self, sums: list[RefusalSum]) -> None:
        for each in sums:
            self._journal.put(_record_of(each, self._journal.new_id()))


def _record_of(found: RefusalSum, record_id: str) -> AuditRecord:
    kind = found.kind
    return AuditRecord(
        id=record_id,
        time=found.first_ms,
        until=found.last_ms,
        result=AuditResult.REFUSED,
        principal=None
        if kind.principal is None
        else AuditedPrincipal(kind.principal, kind.principal_kind, kind.token_id),
        address=kind.address,
        code=kind.code,
        count=found.count,
        operations=list(found.operations),
    )
