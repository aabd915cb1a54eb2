"""Somebody who is known and not let in."""

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from cluster.errors import ServerError


class RefusedCallerError(ServerError):
    """`principal` is whose token or certificate it was, for those who record refusals."""

    def __init__(self, code: ProblemCode, detail: str, principal: Principal) -> None:
        super().__init__(code, detail)
        self.principal = principal
