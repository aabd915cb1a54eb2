"""The audit log, without `await`. What each method does stands with its twin in `async_audit_log`."""

from collections.abc import Callable

from acklog.audit import AuditPage
from acklog.client.async_audit_log import AsyncAuditLog
from acklog.client.background import Background


class AuditLog:
    """`client.audit`. It takes the right to audit the cluster."""

    def __init__(self, background: Background, twin: Callable[[], AsyncAuditLog]) -> None:
        self._run = background.run
        self._twin = twin

    def read(
        self,
        *,
        since_ms: int | None = None,
        until_ms: int | None = None,
        who: str | None = None,
        operation: str | None = None,
        result: str | None = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> AuditPage:
        """A page of records, the oldest first: of this time, of the principal of this name, of this operation, with
        this result. To go on, `after` is the `next` of the page before. Raises Forbidden."""
        return self._run(
            lambda: self._twin().read(
                since_ms=since_ms,
                until_ms=until_ms,
                who=who,
                operation=operation,
                result=result,
                limit=limit,
                after=after,
            )
        )
