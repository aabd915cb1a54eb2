"""A signature in the header `Authorization`.

AWS4-HMAC-SHA256 Credential=<id>/<date>/<region>/sqs/aws4_request, SignedHeaders=host;x-amz-date, Signature=<hex>
"""

from app.sqs.signature.credential import Credential
from app.sqs.signature.query_parameters import query_parameters
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.shown_signature import ShownSignature, check_algorithm, check_time, signed_headers_of
from app.sqs.signature.signing_time import SigningTime
from app.sqs.sqs_error import SqsError, SqsErrorCode

AUTHORIZATION_BYTES_MAX = 8192

_PARTS = ("Credential", "SignedHeaders", "Signature")


def header_signature(request: ReceivedRequest, authorization: bytes) -> ShownSignature:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    if len(authorization) > AUTHORIZATION_BYTES_MAX:
        raise _incomplete(f"The Authorization header has more than {AUTHORIZATION_BYTES_MAX} bytes.")
    algorithm, _, rest = authorization.decode("latin-1").partition(" ")
    check_algorithm(algorithm)
    parts = _parts_of(rest)
    missing = [f"Authorization header requires '{name}' parameter." for name in _PARTS if name not in parts]
    if not request.times_of(b"x-amz-date") and not request.times_of(b"date"):
        missing.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    if missing:
        raise _incomplete(" ".join(missing))
    return ShownSignature(
        credential=Credential.parsed(parts["Credential"]),
        time=_time_of(request),
        signed_headers=signed_headers_of(parts["SignedHeaders"]),
        parameters=query_parameters(request.raw_query) if request.raw_query else [],
        signature=parts["Signature"],
    )


def _parts_of(text: str) -> dict[str, str]:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in _PARTS or name in found:
            said = ", ".join(_PARTS)
            raise _incomplete(f"The Authorization header has the key=value pairs {said}, each once, and no others.")
        found[name] = value
    return found


def _time_of(request: ReceivedRequest) -> SigningTime:
    """Raises SqsError INCOMPLETE_SIGNATURE."""
    name = b"x-amz-date" if request.times_of(b"x-amz-date") else b"date"
    if request.times_of(name) > 1:
        raise _incomplete(f"The header '{name.decode()}' is there more than once.")
    text = (request.header(name) or b"").decode("latin-1").strip()
    time = SigningTime.parsed(text)
    if time is None and name == b"date":
        time = SigningTime.of_date_header(text)
    return check_time(time)


def _incomplete(message: str) -> SqsError:
    return SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, message)
