"""What a request shows to be let in by: a signature, with all that it says of how it was made."""

from dataclasses import dataclass
from functools import lru_cache

from app.sqs.signature.credential import Credential
from app.sqs.signature.query_parameters import QueryParameters
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.signing_time import CLOCK_SKEW_MS, SigningTime
from app.sqs.sqs_error import SqsError, SqsErrorCode

ALGORITHM = "AWS4-HMAC-SHA256"
ASYMMETRIC_ALGORITHM = "AWS4-ECDSA-P256-SHA256"
"""SigV4A. No key of ours can be checked by it."""

REMEMBERED_MAX = 100
"""Clients sign the same headers of each request."""

_HOST, _TARGET = b"host", b"x-amz-target"


@dataclass(frozen=True, slots=True)
class ShownSignature:
    """`parameters` are those of the query that are signed, `good_for_ms` counts from `time` on."""

    credential: Credential
    time: SigningTime
    signed_headers: tuple[bytes, ...]
    parameters: QueryParameters
    signature: str
    good_for_ms: int = CLOCK_SKEW_MS

    def check_all_but_the_signature(self, request: ReceivedRequest, now_ms: int) -> None:
        """What needs no secret, and no body. Raises SqsError SIGNATURE_DOES_NOT_MATCH."""
        self.credential.check(self.time)
        self.time.check(now_ms, good_for_ms=self.good_for_ms)
        names = request.names
        missing = [name for name in self.signed_headers if name not in names]
        if missing:
            raise _mismatch(f"The header '{missing[0].decode()}' is signed, and is not in the request.")
        # Both decide what a request asks for and from whom. Other headers of that family, which have to be signed as
        # well, are bound by the signature in another way, or are what a proxy adds on the way.
        if _HOST not in self.signed_headers:
            raise _mismatch("'Host' must be a 'SignedHeader' in the AWS Authorization.")
        if _TARGET in names and _TARGET not in self.signed_headers:
            raise _mismatch("'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.")


@lru_cache(maxsize=REMEMBERED_MAX)
def signed_headers_of(text: str) -> tuple[bytes, ...]:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    names = tuple(text.encode("ascii", "replace").split(b";"))
    if any(not name or name != name.lower() for name in names) or list(names) != sorted(set(names)):
        raise SqsError(
            SqsErrorCode.INCOMPLETE_SIGNATURE,
            "SignedHeaders are names in lower case, separated by ';', in their order, each once.",
        )
    return names


def check_algorithm(name: str) -> None:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    if name == ASYMMETRIC_ALGORITHM:
        said = f"{ASYMMETRIC_ALGORITHM} (Signature Version 4A) is not supported"
    else:
        said = "The authorization mechanism you have provided is not supported"
    if name != ALGORITHM:
        raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, f"{said}. Please use {ALGORITHM}.")


def check_time(time: SigningTime | None) -> SigningTime:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    if time is None:
        said = "Date must be in ISO-8601 'basic format' (20150830T123600Z), or be a Date of HTTP in GMT."
        raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, said)
    return time


def _mismatch(message: str) -> SqsError:
    return SqsError(SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, message)
