"""Whether a signature is the one that the holder of a secret would have made of a request."""

import hashlib
import hmac

from app.sqs.signature.canonical_request import canonical_request
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.shown_signature import ALGORITHM, ShownSignature
from app.sqs.sqs_error import SqsError, SqsErrorCode

_BODY_DIGEST = b"x-amz-content-sha256"
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


def check_signature(request: ReceivedRequest, shown: ShownSignature, *, body: bytes, signing_key: bytes) -> None:
    """Raises SqsError SIGNATURE_DOES_NOT_MATCH."""
    body_digest = hashlib.sha256(body).hexdigest().encode()
    _check_said_digest(request, body_digest)
    text = string_to_sign(request, shown, body_digest=body_digest)
    expected = hmac.digest(signing_key, text, "sha256").hex()
    if not hmac.compare_digest(expected.encode(), shown.signature.encode()):
        raise SqsError(SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, _MISMATCH)


def string_to_sign(request: ReceivedRequest, shown: ShownSignature, *, body_digest: bytes) -> bytes:
    canonical = canonical_request(
        request, shown.parameters, signed_headers=shown.signed_headers, body_digest=body_digest
    )
    lines = (ALGORITHM, shown.time.text, shown.credential.scope, hashlib.sha256(canonical).hexdigest())
    return "\n".join(lines).encode()


def _check_said_digest(request: ReceivedRequest, body_digest: bytes) -> None:
    """What the header says is never gone by: the body is signed, and nothing stands for it. Raises SqsError."""
    for name, value in request.headers:
        if name == _BODY_DIGEST and not hmac.compare_digest(value.strip().lower(), body_digest):
            said = "x-amz-content-sha256 is not the SHA-256 of the body"
            raise SqsError(
                SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, f"{said}; UNSIGNED-PAYLOAD and chunks are for other services."
            )
