"""Signatures: whatever botocore signs is let in, and nothing of it can be another."""

from dataclasses import replace
from urllib.parse import quote, quote_plus

from hypothesis import assume, given
from hypothesis import strategies as st

from app.sqs.signature.canonical_request import canonical_path
from app.sqs.signature.query_parameters import canonical_query, query_parameters
from app.sqs.sqs_error import SqsError, SqsErrorCode
from tests.support.aws_signer import AwsSigner, SignedCall
from tests.support.sqs_access import SqsGate, table_of

METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"])
TEXT = st.text(max_size=12).filter(lambda text: text.isprintable())
SEGMENTS = st.one_of(st.sampled_from(["", ".", "..", "000000000000", "orders.fifo", "~a", "%", "a b"]), TEXT)
PATHS = st.lists(SEGMENTS, max_size=4).map(lambda parts: "/" + "/".join(quote(part, safe="~") for part in parts))
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=5)
HEADER_NAMES = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=8).map("h-".__add__)
HEADER_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)
HEADERS = st.lists(st.tuples(HEADER_NAMES, HEADER_VALUES), max_size=5)
REGIONS = st.from_regex(r"\A[a-z]{2}-[a-z]{4,9}-[0-9]\Z")
SECRETS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=16, max_size=128)
REFUSALS = {
    SqsErrorCode.INCOMPLETE_SIGNATURE,
    SqsErrorCode.INVALID_CLIENT_TOKEN_ID,
    SqsErrorCode.MISSING_AUTHENTICATION_TOKEN,
    SqsErrorCode.SIGNATURE_DOES_NOT_MATCH,
}
KEY_ID = "AKIDEXAMPLE00000"


def query_of(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs)


@st.composite
def signed_calls(draw: st.DrawFn) -> tuple[SqsGate, SignedCall]:
    secret = draw(SECRETS)
    gate = SqsGate(table_of([(KEY_ID, secret)]))
    signer = AwsSigner(KEY_ID, secret, now_ms=gate.clock.now_ms(), region=draw(REGIONS))
    make = draw(st.sampled_from([signer.signed, signer.presigned]))
    body = draw(st.binary(max_size=40)) if make == signer.signed else b""
    return gate, make(draw(METHODS), draw(PATHS), query_of(draw(PAIRS)), draw(HEADERS), body)


def is_refused(gate: SqsGate, call: SignedCall) -> bool:
    """As a signature is refused, and not as anything else is."""
    try:
        gate.admit(call)
    except SqsError as error:
        return error.code in REFUSALS
    return False


@given(signed_calls())
def test_what_botocore_signs_is_let_in(made: tuple[SqsGate, SignedCall]) -> None:
    gate, call = made
    assert gate.admit(call).name == "billing"


@given(signed_calls(), st.data())
def test_no_byte_of_it_can_be_another(made: tuple[SqsGate, SignedCall], data: st.DataObject) -> None:
    gate, call = made
    part = data.draw(st.sampled_from(["path", "query", "body", "method", "header"]))
    changed, is_the_same = call, False
    if part == "path":
        changed = replace(call, raw_path=data.draw(another(call.raw_path)))
        is_the_same = canonical_path(changed.raw_path) == canonical_path(call.raw_path)
    elif part == "query":
        changed = replace(call, raw_query=data.draw(another(call.raw_query)))
        is_the_same = sorted(query_parameters(changed.raw_query)) == sorted(query_parameters(call.raw_query))
    elif part == "body":
        changed = replace(call, body=data.draw(another(call.body)))
    elif part == "method":
        changed = replace(call, method=data.draw(METHODS.filter(lambda method: method != call.method)))
    else:
        signed = [index for index, each in enumerate(call.headers) if each[0] != b"authorization"]
        index = data.draw(st.sampled_from(signed))
        name, value = call.headers[index]
        other = data.draw(another(value))
        is_the_same = other.split() == value.split()
        changed = replace(call, headers=(*call.headers[:index], (name, other), *call.headers[index + 1 :]))
    assume(not is_the_same)
    assert is_refused(gate, changed)


def another(value: bytes) -> st.SearchStrategy[bytes]:
    """With a byte changed, a byte more, or a byte less."""
    places = st.integers(0, max(0, len(value) - 1))
    changed = st.tuples(places, st.integers(0, 255)).map(
        lambda found: value[: found[0]] + bytes([found[1]]) + value[found[0] + 1 :]
    )
    more = st.tuples(places, st.integers(0, 255)).map(
        lambda found: value[: found[0]] + bytes([found[1]]) + value[found[0] :]
    )
    less = places.map(lambda place: value[:place] + value[place + 1 :])
    return st.one_of(changed, more, less).filter(lambda made: made != value)


@given(PAIRS.flatmap(lambda pairs: st.tuples(st.just(pairs), st.permutations(pairs))))
def test_a_query_means_the_same_however_it_is_written(
    written: tuple[list[tuple[str, str]], list[tuple[str, str]]],
) -> None:
    pairs, shuffled = written
    other = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in shuffled)
    expected = canonical_query(query_parameters(query_of(pairs).encode()))
    assert canonical_query(query_parameters(other.encode())) == expected


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_no_two_queries_that_differ_have_one_text(first: bytes, second: bytes) -> None:
    one, other = query_parameters(first), query_parameters(second)
    assert (canonical_query(one) == canonical_query(other)) == (sorted(one) == sorted(other))


@given(st.binary(max_size=60).map(b"/".__add__))
def test_a_tidy_path_stays_as_it_is(raw: bytes) -> None:
    """And each is tidied to one."""
    tidy = canonical_path(raw)
    assert tidy.startswith(b"/")
    assert not {b".", b".."} & set(tidy.split(b"/"))
    assert b"//" not in tidy
    assert canonical_path(tidy) == tidy.replace(b"%", b"%25")
