"""Requests of SQS that are signed, in the header or in the query: any of both, any date, any body."""

from app.sqs.signature.query_parameters import canonical_query, query_parameters
from app.sqs.sqs_error import SqsError, SqsErrorCode
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of
from tests.support.aws_signer import HOST, SignedCall
from tests.support.sqs_access import BEARER, SqsGate, table_of

_GATE = SqsGate(table_of())
_NAMES = (b"authorization", b"x-amz-date", b"date", b"content-type", b"x-amz-target")
_PATH = "/000000000000/orders"
_REFUSALS = {
    SqsErrorCode.INCOMPLETE_SIGNATURE,
    SqsErrorCode.INVALID_CLIENT_TOKEN_ID,
    SqsErrorCode.MISSING_AUTHENTICATION_TOKEN,
    SqsErrorCode.SIGNATURE_DOES_NOT_MATCH,
}


def _signed_calls() -> tuple[SignedCall, ...]:
    signer = _GATE.signer()
    return (
        signer.signed("POST", _PATH, "Version=2012-11-05", [("Content-Type", "text/plain")], b"Action=ReceiveMessage"),
        signer.signed("POST", _PATH, "", [("X-Amz-Target", "AmazonSQS.SendMessage")], b"{}"),
        signer.signed("POST", _PATH, "a=%20&a=%C3%A9&b", [("Date", "now")]),
        signer.presigned("POST", _PATH, "Action=ReceiveMessage&Version=2012-11-05", expires_seconds=60),
    )


def _signature_of(call: SignedCall) -> bytes:
    """It stands last, wherever it stands."""
    return (dict(call.headers).get(b"authorization") or call.raw_query)[-64:]


def _encoded(call: SignedCall) -> bytes:
    found = dict(call.headers)
    return joined(*(found.get(name, b"") for name in _NAMES), call.raw_query, call.body)


def _decoded(data: bytes) -> SignedCall:
    *values, query, body = parts_of(data, 7)
    said = [(name, value) for name, value in zip(_NAMES, values, strict=True) if value]
    return SignedCall("POST", _PATH.encode(), query, ((b"host", HOST.encode()), *said), body)


_SHOWN = (*(_signature_of(call) for call in _signed_calls()), BEARER.encode())


def _seeds() -> tuple[bytes, ...]:
    calls = _signed_calls()
    return (
        *(_encoded(call) for call in calls),
        _encoded(calls[0].with_header("authorization", f"Bearer {BEARER}".encode())),
        _encoded(calls[0].without_header("authorization")),
        _encoded(_GATE.signer(session_token="s").signed("POST", _PATH)),
        joined(b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=0", b"20231114T221320Z"),
        joined(b"AWS4-ECDSA-P256-SHA256 Credential=a"),
        joined(b"", b"", b"", b"", b"", b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a%2Fb%2Fc%2Fd%2Fe"),
        joined(b"", b"", b"", b"", b"", b"AWSAccessKeyId=a&SignatureVersion=2"),
    )


def _read(data: bytes) -> None:
    call = _decoded(data)
    parameters = query_parameters(call.raw_query)
    assert sorted(query_parameters(canonical_query(parameters))) == sorted(parameters)
    try:
        principal = _GATE.admit(call)
    except SqsError as error:
        assert error.code in _REFUSALS
        raise
    assert principal.name == "billing"
    assert any(shown in data for shown in _SHOWN), "nobody makes a signature without the secret"


TARGET = FuzzTarget(_read, (SqsError,), _seeds)
