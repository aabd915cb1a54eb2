"""The audit log, for `await`."""

from acklog.audit import AuditPage
from acklog.client import audit_calls
from acklog.client.caller import Caller


class AsyncAuditLog:
    """`client.audit`. It takes the right to audit the cluster."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def read(
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
        return await self._caller.perform(
            audit_calls.read_audit(
                since_ms=since_ms,
                until_ms=until_ms,
                who=who,
                operation=operation,
                result=result,
                limit=limit,
                after=after,
            )
        )
