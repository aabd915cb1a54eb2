"""A signature in the query: of a URL that somebody has signed beforehand, and that is good for a while."""

from app.sqs.signature.credential import Credential
from app.sqs.signature.query_parameters import QueryParameters
from app.sqs.signature.shown_signature import ShownSignature, check_algorithm, check_time, signed_headers_of
from app.sqs.signature.signing_time import SigningTime
from app.sqs.sqs_error import SqsError, SqsErrorCode

EXPIRES_SECONDS_MAX = 604_800

ALGORITHM_PARAMETER = b"X-Amz-Algorithm"
_SIGNATURE = b"X-Amz-Signature"
_PARTS = (
    ALGORITHM_PARAMETER,
    b"X-Amz-Credential",
    b"X-Amz-Date",
    b"X-Amz-Expires",
    b"X-Amz-SignedHeaders",
    _SIGNATURE,
)


def query_signature(parameters: QueryParameters) -> ShownSignature:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    parts: dict[bytes, str] = {}
    for name, value in parameters:
        if name in _PARTS and name in parts:
            raise _incomplete(f"AWS query-string parameters must include '{name.decode()}' once.")
        if name in _PARTS:
            parts[name] = value.decode("latin-1")
    missing = [f"AWS query-string parameters must include '{name.decode()}'." for name in _PARTS if name not in parts]
    if missing:
        raise _incomplete(" ".join(missing))
    check_algorithm(parts[ALGORITHM_PARAMETER])
    return ShownSignature(
        credential=Credential.parsed(parts[b"X-Amz-Credential"]),
        time=check_time(SigningTime.parsed(parts[b"X-Amz-Date"])),
        signed_headers=signed_headers_of(parts[b"X-Amz-SignedHeaders"]),
        parameters=[each for each in parameters if each[0] != _SIGNATURE],
        signature=parts[_SIGNATURE],
        good_for_ms=_good_for_ms(parts[b"X-Amz-Expires"]),
    )


def _good_for_ms(text: str) -> int:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    digits_max = len(str(EXPIRES_SECONDS_MAX))
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) <= digits_max else 0
    if not 1 <= seconds <= EXPIRES_SECONDS_MAX:
        raise _incomplete(f"X-Amz-Expires must be a number of seconds from 1 to {EXPIRES_SECONDS_MAX}.")
    return seconds * 1000


def _incomplete(message: str) -> SqsError:
    return SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, message)
