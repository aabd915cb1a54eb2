"""Who makes a call of SQS: a port, as signatures are checked elsewhere, and how bearer tokens are taken."""

from collections.abc import Callable, Sequence
from typing import Protocol

from app.auth.callers import Callers
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal
from app.sqs.protocol.failures import sqs_error_of
from cluster.errors import ServerError

CallerClaim = Callable[[bytes], Principal]
"""Who asks, once the body is there. Raises SqsError. Asked again, for a request that waits, it says whether that one
would still be let in."""


class CallerClaims(Protocol):
    def claim_of(
        self,
        method: str,
        raw_path: bytes,
        raw_query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        *,
        certificate: ClientCertificate | None = None,
    ) -> CallerClaim:
        """Before the body is waited for: nobody is made room for who is refused in any case. Raises SqsError."""
        ...


class BearerClaims:
    """By a bearer token or a certificate, as the rest of the API."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def claim_of(
        self,
        method: str,
        raw_path: bytes,
        raw_query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        *,
        certificate: ClientCertificate | None = None,
    ) -> CallerClaim:
        authorization = next((value for name, value in headers if name == b"authorization"), None)

        def judged(_body: bytes) -> Principal:
            try:
                return self._callers.of(None if authorization is None else authorization.decode("latin-1"), certificate)
            except ServerError as error:
                raise sqs_error_of(error) from None

        judged(b"")
        return judged
