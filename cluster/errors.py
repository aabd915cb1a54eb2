"""The one exception family of the server.

Inside the server every expected failure is an ServerError with a code of the catalogue (`acklog.wire.problems`). Only
`storage/rpc/server.py` turns it into a wire code and only `app/http/exchange/problems.py` into HTTP. Anything else that
is raised is a programmer's error and crashes the component.
"""

from acklog.wire.problems import ProblemCode


class ServerError(Exception):
    """An expected failure.

    `detail` is a sentence for a person; `field` names what of the request is at fault; `retry_after_ms` says when a
    retriable one is worth another try.
    """

    def __init__(
        self,
        code: ProblemCode,
        detail: str,
        *,
        field: str | None = None,
        retry_after_ms: int | None = None,
        extra: dict[str, object] | None = None,
    ) -> None:
        super().__init__(f"{code.name}: {detail}")
        self.code = code
        self.detail = detail
        self.field = field
        self.retry_after_ms = retry_after_ms
        self.extra = extra or {}

    @property
    def is_retriable(self) -> bool:
        return self.code.retriable
