"""Every byte of a signed request counts, and whether a signature is right is not told by how long it takes."""

import hmac
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from app.sqs.signature.credential import Credential
from app.sqs.signature.query_parameters import query_parameters
from app.sqs.signature.signing_keys import SIGNING_KEYS_MAX, SigningKeys
from app.sqs.sqs_error import SqsError
from tests.support.aws_signer import SignedCall
from tests.support.sqs_access import SqsGate, table_of

FLIPS = (0x01, 0x20)  # another letter, and the same one in the other case


def header_signed(gate: SqsGate) -> SignedCall:
    headers = [("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", "AmazonSQS.SendMessage")]
    body = b'{"QueueUrl":"http://queue.example.org/000000000000/orders","MessageBody":"paid"}'
    return gate.signer().signed("POST", "/000000000000/orders", "Version=2012-11-05", headers, body)


def query_signed(gate: SqsGate) -> SignedCall:
    return gate.signer().presigned("GET", "/000000000000/orders", "Action=ReceiveMessage&WaitTimeSeconds=20")


def flipped(value: bytes) -> Iterator[bytes]:
    for place, byte in enumerate(value):
        for flip in FLIPS:
            yield value[:place] + bytes([byte ^ flip]) + value[place + 1 :]


def tampered(call: SignedCall) -> Iterator[tuple[str, SignedCall]]:
    for value in flipped(call.method.encode()):
        yield "method", replace(call, method=value.decode("latin-1"))
    for value in flipped(call.raw_path):
        yield "path", replace(call, raw_path=value)
    for value in flipped(call.raw_query):
        if query_parameters(value) != query_parameters(call.raw_query):  # %2f is %2F
            yield "query", replace(call, raw_query=value)
    for value in flipped(call.body):
        yield "body", replace(call, body=value)
    for index, (name, value) in enumerate(call.headers):
        for other in flipped(value):
            headers = (*call.headers[:index], (name, other), *call.headers[index + 1 :])
            yield name.decode(), replace(call, headers=headers)


@pytest.mark.parametrize("sign", [header_signed, query_signed])
def test_every_byte_counts(sign: Callable[[SqsGate], SignedCall]) -> None:
    gate = SqsGate(table_of())
    call = sign(gate)
    gate.admit(call)
    parts = set()
    for part, other in tampered(call):
        parts.add(part)
        with pytest.raises(SqsError):
            gate.admit(other)
    assert {"method", "path", "query", "host"} <= parts


def test_the_comparison_takes_as_long_whatever_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare_digest = hmac.compare_digest

    def compare(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return compare_digest(first, second)

    gate = SqsGate(table_of())
    call = header_signed(gate)
    right = call.header("authorization")[-64:]
    monkeypatch.setattr(hmac, "compare_digest", compare)
    gate.admit(call)
    assert compared == [(right, right)]
    for wrong in (b"", right[:-1], right.upper(), right + b"0", b"\xff" * 64):
        compared.clear()
        other = call.with_header("authorization", call.header("authorization")[:-64] + wrong)
        with pytest.raises(SqsError, match="does not match"):
            gate.admit(other)
        [(expected, shown)] = compared
        assert (expected, shown.decode().encode("latin-1")) == (right, wrong)


def credential(number: int) -> Credential:
    return Credential("AKIDEXAMPLE00000", "20231114", f"region-{number}", "sqs", "aws4_request")


def test_so_many_keys_are_remembered() -> None:
    keys = SigningKeys()
    made = [keys.of(credential(number), "secret") for number in range(SIGNING_KEYS_MAX + 1)]
    assert len(set(made)) == len(made)
    assert len(keys) == 0, "what has not proved good is not"
    for number, key in enumerate(made):
        keys.remember(credential(number), "secret", key)
    assert len(keys) == SIGNING_KEYS_MAX
    assert keys.of(credential(1), "another secret") != made[1]
    assert [keys.of(credential(number), "secret") for number in (0, 1, SIGNING_KEYS_MAX)] == [
        made[0],
        made[1],
        made[SIGNING_KEYS_MAX],
    ]


def test_strangers_push_no_key_out() -> None:
    gate = SqsGate(table_of())
    gate.admit(header_signed(gate))
    for number in range(3):
        with pytest.raises(SqsError):
            gate.admit(gate.signer(secret="of somebody else", region=f"region-{number}").signed())
    assert len(gate.sqs._signing_keys) == 1
