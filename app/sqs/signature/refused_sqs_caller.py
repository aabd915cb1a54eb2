"""Somebody who is known and not let in, as SQS says it: `app.auth.refused_caller` has it for the rest of the API."""

from app.auth.principal import Principal
from app.sqs.sqs_error import SqsError, SqsErrorCode


class RefusedSqsCallerError(SqsError):
    """`principal` is whose access key, token or certificate it was, for those who record refusals."""

    def __init__(self, code: SqsErrorCode, message: str, principal: Principal) -> None:
        super().__init__(code, message)
        self.principal = principal
