"""Who makes a call of SQS: a port, as signatures are checked elsewhere."""

from collections.abc import Callable, Sequence
from typing import Protocol

from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal

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
