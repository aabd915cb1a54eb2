"""Who is let in by a signature, and what is said to whom is not."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.auth.principal import ANYONE
from app.auth.tokens import parse_token_table
from app.auth.tried_rights import RightsOnTrial
from app.sqs.signature.header_signature import AUTHORIZATION_BYTES_MAX
from app.sqs.signature.query_signature import EXPIRES_SECONDS_MAX
from app.sqs.signature.signing_time import CLOCK_SKEW_MS
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.action import Action
from tests.support.aws_signer import SignedCall
from tests.support.sqs_access import BEARER, KEY_ID, SECRET, SqsGate, table_of

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
JSON = (("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", "AmazonSQS.SendMessage"))
UNSIGNED = SignedCall("POST", b"/", b"", ((b"host", b"queue.example.org"),), b"Action=ListQueues")


@pytest.fixture
def gate() -> SqsGate:
    return SqsGate(table_of())


def refusal(gate: SqsGate, call: SignedCall) -> SqsError:
    with pytest.raises(SqsError) as refused:
        gate.admit(call)
    assert SECRET not in refused.value.message
    return refused.value


def with_authorization(call: SignedCall, before: str, after: str) -> SignedCall:
    text = call.header("authorization").decode()
    assert before in text
    return call.with_header("authorization", text.replace(before, after).encode())


# --- who is let in ---------------------------------------------------------------------------------------------------


def test_who_signs_is_the_holder_of_the_token(gate: SqsGate) -> None:
    call = gate.signer().signed(headers=JSON, body=b'{"QueueUrl": "http://queue.example.org/000000000000/orders"}')
    who = gate.admit(call)
    assert who.name == "billing"
    assert who.may_on_topic(Action.RECEIVE, "orders")
    assert not who.may_on_topic(Action.SEND, "orders")


def test_a_url_may_be_signed_beforehand(gate: SqsGate) -> None:
    call = gate.signer().presigned(path="/000000000000/orders", query="Action=ReceiveMessage&Version=2012-11-05")
    assert gate.admit(call).name == "billing"


def test_a_bearer_token_will_do(gate: SqsGate) -> None:
    for scheme in ("Bearer", "bearer"):
        assert gate.admit(UNSIGNED.with_header("authorization", f"{scheme} {BEARER}".encode())).name == "billing"
    wrong = UNSIGNED.with_header("authorization", b"Bearer of-nobody-0123456789")
    assert refusal(gate, wrong).code is SqsErrorCode.INVALID_CLIENT_TOKEN_ID


def test_where_nobody_is_asked_no_signature_is_looked_at() -> None:
    gate = SqsGate(None)
    for call in (
        UNSIGNED,
        UNSIGNED.with_header("authorization", b"AWS4-HMAC-SHA256 nonsense"),
        gate.signer("test", "test").signed(),
        gate.signer("test", "test", session_token="test").signed(),
        gate.signer("test", "test", later_ms=10**9).presigned(),
    ):
        assert gate.admit(call) is ANYONE


def test_a_signed_request_is_good_as_often_as_it_is_sent(gate: SqsGate) -> None:
    call = gate.signer().signed(body=b"Action=ListQueues", headers=FORM)
    assert [gate.admit(call).name for _ in range(3)] == ["billing"] * 3


def test_the_date_may_be_the_one_of_http(gate: SqsGate) -> None:
    call = gate.signer().signed(headers=[("Date", "now")])
    assert gate.admit(call).name == "billing"
    with_zone = call.with_header("date", call.header("date").replace(b"-0000", b"GMT"))
    assert "does not match" in refusal(gate, with_zone).message, "it is one of the headers that are signed"


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-3", "elasticmq", "local_1"])
def test_any_region_will_do_that_is_signed(gate: SqsGate, region: str) -> None:
    call = gate.signer(region=region).signed()
    assert gate.admit(call).name == "billing"
    error = refusal(gate, with_authorization(call, f"/{region}/", "/us-west-1/"))
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH


def test_before_the_body_it_is_known_who_cannot_be_let_in(gate: SqsGate) -> None:
    call = gate.signer().signed(body=b"x")
    claim = gate.sqs.claim_of(call.method, call.raw_path, call.raw_query, call.headers)
    assert claim(b"x").name == "billing"
    with pytest.raises(SqsError, match="does not match"):
        claim(b"y")
    for refused in (UNSIGNED, gate.signer("AKIDNOBODY000000").signed(), gate.signer(later_ms=10**9).signed()):
        with pytest.raises(SqsError):
            gate.sqs.claim_of(refused.method, refused.raw_path, refused.raw_query, refused.headers)


# --- what the token's entry says holds for its keys ------------------------------------------------------------------


async def test_keys_end_with_their_token() -> None:
    gate = SqsGate(None)
    end = datetime.fromtimestamp(gate.clock.now_ms() / 1000 + 1, UTC).isoformat()
    gate = SqsGate(table_of(expiresAt=end))
    call = gate.signer().signed()
    await gate.clock.advance_ms(999)
    claim = gate.sqs.claim_of(call.method, call.raw_path, call.raw_query, call.headers)
    assert claim(b"").name == "billing"
    await gate.clock.advance_ms(1)
    assert refusal(gate, call).code is SqsErrorCode.EXPIRED_TOKEN
    with pytest.raises(SqsError, match="expired"):
        claim(b"")
    wrong = gate.signer(secret="of somebody else entirely").signed()
    assert refusal(gate, wrong).code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, "strangers are not told of it"


def test_rights_are_tried_out_with_keys_as_well() -> None:
    counted: list[str] = []
    gate = SqsGate(table_of(topics=["mine"]), RightsOnTrial(counted.append))
    gate.admit(gate.signer().signed()).require_on_topic(Action.RECEIVE, "theirs")
    assert counted == ["receive"]


def test_quotas_are_the_token_s() -> None:
    gate = SqsGate(table_of(messagesPerSecond=7))
    quotas = gate.admit(gate.signer().signed()).quotas
    assert quotas is not None
    assert quotas.messages_per_second == 7


def test_keys_are_exchanged_while_clients_go_on() -> None:
    earlier, later = (KEY_ID, SECRET), ("AKIDEXAMPLE00001", "another-secret-0123456789")
    table = table_of([earlier])
    gate = SqsGate(table)
    by_earlier, by_later = gate.signer(*earlier).signed(), gate.signer(*later).signed()
    assert gate.admit(by_earlier).name == "billing"
    assert refusal(gate, by_later).code is SqsErrorCode.INVALID_CLIENT_TOKEN_ID
    table.adopt(table_of([earlier, later]))
    assert gate.admit(by_earlier).name == gate.admit(by_later).name == "billing"
    claim = gate.sqs.claim_of(by_earlier.method, by_earlier.raw_path, by_earlier.raw_query, by_earlier.headers)
    table.adopt(table_of([later]))
    assert gate.admit(by_later).name == "billing"
    assert refusal(gate, by_earlier).code is SqsErrorCode.INVALID_CLIENT_TOKEN_ID
    with pytest.raises(SqsError, match="invalid"):
        claim(b"")


def test_the_same_id_with_another_secret_is_another_key() -> None:
    """Whatever is remembered of the one before."""
    table = table_of()
    gate = SqsGate(table)
    call = gate.signer().signed()
    assert gate.admit(call).name == "billing"
    table.adopt(table_of([(KEY_ID, "another-secret-0123456789")]))
    assert refusal(gate, call).code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert gate.admit(gate.signer(secret="another-secret-0123456789").signed()).name == "billing"


def test_a_token_may_have_keys_alone() -> None:
    keys = [{"id": KEY_ID, "secret": SECRET}]
    entry = {"name": "billing", "roles": ["consumer"], "accessKeys": keys}
    gate = SqsGate(parse_token_table(json.dumps({"tokens": [entry]}).encode()))
    assert gate.admit(gate.signer().signed()).name == "billing"


# --- who is refused --------------------------------------------------------------------------------------------------


def test_without_anything_a_token_is_missing(gate: SqsGate) -> None:
    for call in (UNSIGNED, replace(UNSIGNED, raw_query=b"Action=ListQueues&X-Amz-Signature=0")):
        error = refusal(gate, call)
        assert error.code is SqsErrorCode.MISSING_AUTHENTICATION_TOKEN
        assert error.message == "Request is missing Authentication Token"


def test_a_key_that_nobody_has(gate: SqsGate) -> None:
    for call in (gate.signer("AKIDNOBODY000000").signed(), gate.signer("AKIDNOBODY000000").presigned()):
        error = refusal(gate, call)
        assert error.code is SqsErrorCode.INVALID_CLIENT_TOKEN_ID
        assert error.message == "The security token included in the request is invalid."


def test_another_secret(gate: SqsGate) -> None:
    signer = gate.signer(secret=SECRET[:-1])
    for call in (signer.signed(), signer.presigned()):
        error = refusal(gate, call)
        assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
        assert error.message.startswith(
            "The request signature we calculated does not match the signature you provided."
        )


def test_session_tokens_are_none_of_ours(gate: SqsGate) -> None:
    signer = gate.signer(session_token="a session")
    for call in (signer.signed(), signer.presigned()):
        error = refusal(gate, call)
        assert error.code is SqsErrorCode.INVALID_CLIENT_TOKEN_ID
        assert "no session tokens" in error.message


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", "4A"),
        ("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA512", "Please use AWS4-HMAC-SHA256"),
        ("AWS4-HMAC-SHA256 ", "AWS AKIDEXAMPLE:signature ", "Please use AWS4-HMAC-SHA256"),
        ("Credential=", "Kredential=", "each once, and no others"),
        (", Signature=", ", Signature:", "each once, and no others"),
        (", Signature=", ", Signature=0, Signature=", "each once, and no others"),
        ("/sqs/", "/", "5 slash-delimited elements"),
        ("/sqs/", "/sqs/more/", "5 slash-delimited elements"),
        ("host;", "Host;", "lower case"),
        ("host;x-amz-date", "x-amz-date;host", "in their order"),
        ("host;", "host;host;", "each once"),
        ("host;", "host;;", "in their order"),
    ],
)
def test_what_is_no_signature_of_this_kind(gate: SqsGate, before: str, after: str, said: str) -> None:
    error = refusal(gate, with_authorization(gate.signer().signed(), before, after))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
    assert said in error.message


def test_what_is_missing_is_named(gate: SqsGate) -> None:
    call = gate.signer().signed().without_header("x-amz-date")
    error = refusal(gate, call.with_header("authorization", b"AWS4-HMAC-SHA256 Credential=a/b/c/sqs/aws4_request"))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
    assert error.message == (
        "Authorization header requires 'SignedHeaders' parameter. Authorization header requires 'Signature' parameter. "
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
    )
    presigned = gate.signer().presigned()
    for name in ("Credential", "Date", "Expires", "SignedHeaders", "Signature"):
        query = b"&".join(
            each for each in presigned.raw_query.split(b"&") if not each.startswith(f"X-Amz-{name}".encode())
        )
        error = refusal(gate, replace(presigned, raw_query=query))
        assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
        assert error.message == f"AWS query-string parameters must include 'X-Amz-{name}'."


@pytest.mark.parametrize(
    "date", [b"20231114T221320", b"2023-11-14T22:13:20Z", b"20231332T221320Z", b"", b"\xff", b"now"]
)
def test_what_is_no_date(gate: SqsGate, date: bytes) -> None:
    error = refusal(gate, gate.signer().signed().with_header("x-amz-date", date))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
    error = refusal(gate, gate.signer().signed().without_header("x-amz-date").with_header("date", date))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE


def test_a_date_of_http_is_one_in_gmt(gate: SqsGate) -> None:
    call = gate.signer().signed(headers=[("Date", "now")])
    error = refusal(gate, call.with_header("date", call.header("date").replace(b"-0000", b"+0100")))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE


def test_there_is_one_way_to_be_let_in(gate: SqsGate) -> None:
    call = gate.signer().signed()
    twice = replace(call, headers=(*call.headers, (b"authorization", call.header("authorization"))))
    dated_twice = replace(call, headers=(*call.headers, (b"x-amz-date", call.header("x-amz-date"))))
    both = gate.signer().presigned().with_header("authorization", f"Bearer {BEARER}".encode())
    presigned = gate.signer().presigned()
    repeated = replace(presigned, raw_query=presigned.raw_query + b"&X-Amz-Expires=3600")
    for refused in (twice, dated_twice, both, repeated):
        assert refusal(gate, refused).code is SqsErrorCode.INCOMPLETE_SIGNATURE


def test_an_authorization_is_of_limited_length(gate: SqsGate) -> None:
    call = gate.signer().signed()
    text = call.header("authorization")
    longest = call.with_header("authorization", text + b" " * (AUTHORIZATION_BYTES_MAX - len(text)))
    assert gate.admit(longest).name == "billing"
    error = refusal(gate, call.with_header("authorization", longest.header("authorization") + b" "))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
    assert str(AUTHORIZATION_BYTES_MAX) in error.message


def test_version_2_is_said_to_be_too_old(gate: SqsGate) -> None:
    text = b"Action=ListQueues&AWSAccessKeyId=a&SignatureVersion=2&SignatureMethod=HmacSHA256&Signature=x"
    error = refusal(gate, replace(UNSIGNED, raw_query=text))
    assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
    assert "Signature Version 2 is not supported" in error.message


# --- what a signature is good for ------------------------------------------------------------------------------------


def test_another_service(gate: SqsGate) -> None:
    error = refusal(gate, gate.signer(service="sns").signed())
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert error.message == "Credential should be scoped to correct service: 'sqs'. "


def test_scopes_that_are_none(gate: SqsGate) -> None:
    call = gate.signer().signed()
    for before, after, said in (
        ("aws4_request", "aws4_answer", "valid terminator: 'aws4_request'"),
        ("/eu-central-1/", "//", "valid region, not ''"),
        ("/eu-central-1/", "/eu central/", "valid region, not 'eu central'"),
        ("/20231114/", "/20231113/", "'20231113' != '20231114', from '20231114T221320Z'"),
    ):
        error = refusal(gate, with_authorization(call, before, after))
        assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
        assert said in error.message


@pytest.mark.parametrize("sign", [-1, 1])
def test_clocks_may_differ_by_a_quarter_of_an_hour(gate: SqsGate, sign: int) -> None:
    assert gate.admit(gate.signer(later_ms=sign * CLOCK_SKEW_MS).signed()).name == "billing"
    error = refusal(gate, gate.signer(later_ms=sign * (CLOCK_SKEW_MS + 1000)).signed())
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert error.message == (
        "Signature expired: 20231114T215819Z is now earlier than 20231114T215820Z (20231114T221320Z - 15 min.)"
        if sign < 0
        else "Signature not yet current: 20231114T222821Z is still later than 20231114T222820Z "
        "(20231114T221320Z + 15 min.)"
    )


async def test_a_signature_ends_to_the_millisecond(gate: SqsGate) -> None:
    for call, good_for_ms in (
        (gate.signer().signed(), CLOCK_SKEW_MS),
        (gate.signer().presigned(expires_seconds=1), 1000),
        (gate.signer().presigned(expires_seconds=90), 90_000),
        (gate.signer().presigned(expires_seconds=EXPIRES_SECONDS_MAX), EXPIRES_SECONDS_MAX * 1000),
    ):
        now_ms = gate.clock.now_ms()
        await gate.clock.advance_ms(good_for_ms)
        assert gate.admit(replace(call)).name == "billing"
        await gate.clock.advance_ms(1)
        assert "Signature expired" in refusal(gate, call).message
        gate = SqsGate(table_of())
        assert gate.clock.now_ms() == now_ms


def test_a_url_is_good_for_a_week_at_most(gate: SqsGate) -> None:
    assert gate.admit(gate.signer().presigned(expires_seconds=EXPIRES_SECONDS_MAX)).name == "billing"
    for seconds in ("0", "-1", str(EXPIRES_SECONDS_MAX + 1), "", "1e3", "9" * 5000, "%C2%B2"):
        call = gate.signer().presigned()
        query = call.raw_query.replace(b"X-Amz-Expires=3600", f"X-Amz-Expires={seconds}".encode())
        error = refusal(gate, replace(call, raw_query=query))
        assert error.code is SqsErrorCode.INCOMPLETE_SIGNATURE
        assert f"from 1 to {EXPIRES_SECONDS_MAX}" in error.message


# --- what has to be signed -------------------------------------------------------------------------------------------


def test_the_host_is_signed(gate: SqsGate) -> None:
    call = with_authorization(gate.signer().signed(), "host;", "")
    error = refusal(gate, call)
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert "'Host'" in error.message


def test_what_is_asked_for_is_signed(gate: SqsGate) -> None:
    """Or whoever is in between makes of a form that says one thing a call that says another."""
    added = gate.signer().signed().with_header("x-amz-target", b"AmazonSQS.PurgeQueue")
    error = refusal(gate, added)
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert "'X-Amz-Target'" in error.message


def test_what_proxies_add_need_not_be(gate: SqsGate) -> None:
    call = gate.signer().signed().with_header("x-amz-cf-id", b"a").with_header("x-forwarded-for", b"192.0.2.1")
    assert gate.admit(call).name == "billing"


def test_a_header_that_is_signed_is_there(gate: SqsGate) -> None:
    call = gate.signer().signed(headers=FORM).without_header("content-type")
    error = refusal(gate, call)
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert "'content-type'" in error.message


@pytest.mark.parametrize("digest", ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "0" * 64])
def test_the_body_is_signed_itself(gate: SqsGate, digest: str) -> None:
    call = gate.signer().signed(headers=[("X-Amz-Content-SHA256", digest)], body=b"Action=ListQueues")
    error = refusal(gate, call)
    assert error.code is SqsErrorCode.SIGNATURE_DOES_NOT_MATCH
    assert "x-amz-content-sha256" in error.message


def test_its_digest_may_be_said() -> None:
    gate = SqsGate(table_of())
    digest = "a591a6d40bf420404a011733cfb7b190d62c65bf0bcda32b57b277d9ad9f146e"
    call = gate.signer().signed(headers=[("X-Amz-Content-SHA256", digest)], body=b"Hello World")
    assert gate.admit(call).name == "billing"
