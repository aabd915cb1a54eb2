"""The newer protocol's requests: JSON, and the operation in the header `X-Amz-Target`."""

import msgspec

from app.sqs.protocol.input_faults import input_fault
from app.sqs.shapes import CALLS
from app.sqs.sqs_error import SqsError, SqsErrorCode

TARGET_PREFIX = "AmazonSQS."
_DECODERS = {name: msgspec.json.Decoder(call.input) for name, call in CALLS.items()}


def operation_of(target: str) -> str:
    """Raises SqsError INVALID_ACTION."""
    name = target.removeprefix(TARGET_PREFIX)
    if name not in CALLS:
        raise SqsError(SqsErrorCode.INVALID_ACTION, f"The operation {name[:100]!r} is not known.")
    return name


def parse_json(operation: str, body: bytes) -> msgspec.Struct:
    """The call's input; an empty body says nothing, and members that nobody knows are passed over. Raises SqsError
    SERIALIZATION, MISSING_PARAMETER."""
    try:
        if not body.isascii():
            body.decode()  # also what nobody knows, which is passed over unread
        found: msgspec.Struct = _DECODERS[operation].decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise input_fault(error) from None
    return found
