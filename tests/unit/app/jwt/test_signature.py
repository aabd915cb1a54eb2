"""Tokens that somebody else than the issuer has made, or made over."""

import hashlib
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.configuration.jwt_options import JWT_ALGORITHMS
from app.jwt.jwt_refused import JwtRefusal, JwtRefusedError
from app.jwt.key_set import KEY_ID_LENGTH_MAX, parse_key_set
from app.jwt.signature import header_of, signed_claims
from tests.support.local_issuer import PrivateKey, algorithm_of, ec_key, encoded, jwk_of, rsa_key, signed_token

RSA, P256 = rsa_key(), ec_key()
KEYS: dict[str, PrivateKey] = {
    "rsa": RSA,
    "p256": P256,
    "p384": ec_key(ec.SECP384R1()),
    "p521": ec_key(ec.SECP521R1()),
    "ed": ed25519.Ed25519PrivateKey.generate(),
}
PUBLISHED = parse_key_set(json.dumps({"keys": [jwk_of(key, key_id) for key_id, key in KEYS.items()]}).encode())
CLAIMS = {"sub": "alice", "tenant": "acme"}
DEEP = b'{"alg":"ES256","x":' + b"[" * 3000 + b"]" * 3000 + b"}"


def claims_in(token: str, algorithms: tuple[str, ...] = JWT_ALGORITHMS) -> object:
    return signed_claims(token, header_of(token, algorithms), PUBLISHED)


def refusal_of(token: str, algorithms: tuple[str, ...] = JWT_ALGORITHMS) -> JwtRefusal:
    with pytest.raises(JwtRefusedError) as refused:
        claims_in(token, algorithms)
    assert not refused.value.told, "who made it up is told nothing"
    return refused.value.reason


def forged(header: dict[str, object], signature: bytes = b"\0" * 64, claims: object = CLAIMS) -> str:
    return f"{encoded(header)}.{encoded(claims)}.{encoded(signature)}"


@pytest.mark.parametrize("key_id", KEYS)
def test_what_the_issuer_has_signed(key_id: str) -> None:
    key = KEYS[key_id]
    assert claims_in(signed_token(CLAIMS, key, key_id)) == CLAIMS
    assert claims_in(signed_token(CLAIMS, key, None)) == CLAIMS, "one key of the kind: it needs no id"
    others = tuple(each for each in JWT_ALGORITHMS if each != algorithm_of(key))
    assert refusal_of(signed_token(CLAIMS, key, key_id), others) is JwtRefusal.ALGORITHM


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "ES256K", "dir"])
def test_algorithms_that_are_none_or_need_no_private_key(algorithm: str) -> None:
    for signature in ("", encoded(b"\0" * 64)):
        token = f"{encoded({'alg': algorithm, 'kid': 'rsa'})}.{encoded(CLAIMS)}.{signature}"
        assert refusal_of(token) in {JwtRefusal.ALGORITHM, JwtRefusal.FORM}


@pytest.mark.parametrize("algorithm", [None, 5, ["RS256"], {"RS256": 1}, True])
def test_algorithms_of_the_wrong_type(algorithm: object) -> None:
    assert refusal_of(forged({"alg": algorithm, "kid": "rsa"})) in {JwtRefusal.ALGORITHM, JwtRefusal.FORM}


@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER])
@pytest.mark.parametrize("claimed", ["HS256", "RS256", "ES256"])
def test_a_public_key_signs_nothing(encoding: Encoding, claimed: str) -> None:
    """Key confusion: who knows the public key, as everybody does, uses it as a secret."""
    secret = RSA.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
    start = f"{encoded({'alg': claimed, 'kid': 'rsa'})}.{encoded(CLAIMS)}"
    token = f"{start}.{encoded(hmac.new(secret, start.encode(), hashlib.sha256).digest())}"
    assert refusal_of(token) in {JwtRefusal.ALGORITHM, JwtRefusal.SIGNATURE, JwtRefusal.KEY}


def test_a_key_is_not_taken_for_one_of_another_kind() -> None:
    token = signed_token(CLAIMS, P256, "rsa")
    assert refusal_of(token) is JwtRefusal.KEY
    assert refusal_of(signed_token(CLAIMS, P256, "p384")) is JwtRefusal.KEY


def test_tampered_parts() -> None:
    header, payload, signature = signed_token(CLAIMS, P256, "p256").split(".")
    other = encoded({**CLAIMS, "tenant": "other"})
    assert refusal_of(f"{header}.{other}.{signature}") is JwtRefusal.SIGNATURE
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    assert refusal_of(f"{header}.{payload}.{flipped}") is JwtRefusal.SIGNATURE
    assert refusal_of(f"{header}.{payload}.{signature[:-4]}") in {JwtRefusal.FORM, JwtRefusal.SIGNATURE}
    assert (
        refusal_of(f"{encoded({'alg': 'ES256', 'kid': 'p256', 'x': 1})}.{payload}.{signature}") is JwtRefusal.SIGNATURE
    )
    assert refusal_of(signed_token(CLAIMS, ec_key(), "p256")) is JwtRefusal.SIGNATURE


@pytest.mark.parametrize(
    "key_id",
    [
        "nobody",
        "",
        "../../../../dev/null",
        "/etc/passwd",
        "' OR 1=1 --",
        "https://evil.example.org/keys",
        "p256\x00",
        "*",
    ],
)
def test_a_key_id_is_a_name_and_nothing_else(key_id: str) -> None:
    assert refusal_of(signed_token(CLAIMS, P256, key_id)) is JwtRefusal.KEY


@pytest.mark.parametrize("key_id", [5, None, ["p256"], {"a": 1}, True, "k" * (KEY_ID_LENGTH_MAX + 1)])
def test_a_key_id_of_the_wrong_type_or_length(key_id: object) -> None:
    token = forged({"alg": "ES256", "kid": key_id})
    assert refusal_of(token) in {JwtRefusal.FORM, JwtRefusal.SIGNATURE}


@pytest.mark.parametrize("place", ["jku", "x5u", "jwk", "x5c", "x5t"])
def test_keys_that_a_token_brings_or_names_a_place_of_have_no_effect(place: str) -> None:
    own = ec_key()
    values: dict[str, object] = {"jwk": jwk_of(own, "p256"), "x5c": ["MIIB"]}
    header = {place: values.get(place, "https://evil.example.org/keys")}
    assert refusal_of(signed_token(CLAIMS, own, "p256", header)) is JwtRefusal.SIGNATURE
    assert claims_in(signed_token(CLAIMS, P256, "p256", header)) == CLAIMS


def test_an_extension_that_has_to_be_understood() -> None:
    assert refusal_of(forged({"alg": "ES256", "kid": "p256", "crit": ["exp"], "exp": 1})) is JwtRefusal.FORM
    assert refusal_of(forged({"alg": "ES256", "kid": "p256", "b64": False, "crit": ["b64"]})) is JwtRefusal.FORM


@pytest.mark.parametrize(
    "token",
    [
        "..",
        "a.b.c",
        "a.b",
        "a.b.c.d",
        "a b.c.d",
        "é.b.c",
        f"{encoded([])}.e30.AAAA",
        f"{encoded(5)}.e30.AAAA",
        f"{encoded(b'{' * 2000)}.e30.AAAA",
        f"{encoded(b'[' * 3000)}.e30.AAAA",
        f"{encoded(DEEP)}.e30.AAAA",
        f"{encoded(bytes(range(128, 256)))}.e30.AAAA",
    ],
)
def test_what_is_no_jwt(token: str) -> None:
    assert refusal_of(token) in {JwtRefusal.FORM, JwtRefusal.ALGORITHM}


def test_one_token_has_one_spelling() -> None:
    """Else what is remembered of good tokens would be pushed out by spellings of one."""
    token = signed_token(CLAIMS, P256, "p256")
    for other in (f"{token}=", f"{token}!", f"{token}\n", f" {token}", token.replace(".", ".\t", 1)):
        assert refusal_of(other) is JwtRefusal.FORM


def test_a_part_with_padding_is_not_taken() -> None:
    """RFC 7515, 2: without. The same bytes with it would be another token of the same signature."""
    header, payload, signature = signed_token({**CLAIMS, "pad": "x"}, P256, "p256").split(".")
    full = [f"{part}{'=' * (-len(part) % 4)}" for part in (header, payload, signature)]
    assert full[2].endswith("==")
    assert full[0].endswith("=")
    for padded in (f"{full[0]}.{payload}.{signature}", f"{header}.{payload}.{full[2]}"):
        assert refusal_of(padded) is JwtRefusal.FORM


@pytest.mark.parametrize(
    "header",
    [
        b'{"alg":"none","alg":"ES256","kid":"p256"}',
        b'{"alg":"ES256","kid":"nobody","kid":"p256"}',
        b'{"alg":"ES256","kid":"p256","kid":"p256"}',
        b'{"alg":"ES256","kid":"p256","\\u0061lg":"ES256"}',
        b'{"alg":"ES256","kid":"p256","x":{"a":1,"a":1}}',
        b'{"alg":"ES256","kid":"p256","x":NaN}',
        '{"alg":"ES256","kid":"p256"}'.encode("utf-16"),
    ],
)
def test_a_header_that_readers_may_read_differently(header: bytes) -> None:
    start = f"{encoded(header)}.{encoded(CLAIMS)}"
    signature = jwt.get_algorithm_by_name("ES256").sign(start.encode(), P256)
    assert refusal_of(f"{start}.{encoded(signature)}") is JwtRefusal.FORM


@pytest.mark.parametrize("name", ["iss", "aud", "exp", "nbf", "sub", "alg", "kid", "tenant"])
def test_a_claim_that_is_there_twice(name: str) -> None:
    """Who checks a token before us may have read the other one."""
    for payload in (f'{{"{name}": "a", "x": 1, "{name}": "a"}}', f'{{"x": [{{"{name}": 1, "{name}": 2}}]}}'):
        token = jwt.PyJWS().encode(payload.encode(), P256, algorithm="ES256", headers={"kid": "p256"})
        with pytest.raises(JwtRefusedError) as refused:
            claims_in(token)
        assert refused.value.reason is JwtRefusal.CLAIMS
        assert "twice" in refused.value.told
    alike = f'{{"{name}": {{"{name}": 1}}, "x": [{{"{name}": 1}}, {{"{name}": 1}}]}}'
    assert claims_in(jwt.PyJWS().encode(alike.encode(), P256, algorithm="ES256", headers={"kid": "p256"}))


@pytest.mark.parametrize("payload", [b"", b"[]", b"5", b"null", b"{", b"\xff", b"[" * 3000])
def test_what_holds_no_claims_although_it_is_signed(payload: bytes) -> None:
    token = jwt.PyJWS().encode(payload, P256, algorithm="ES256", headers={"kid": "p256"})
    with pytest.raises(JwtRefusedError) as refused:
        claims_in(token)
    assert refused.value.reason in {JwtRefusal.CLAIMS, JwtRefusal.FORM}


def test_a_key_that_signs_for_two_ids_is_found_by_either() -> None:
    keys = parse_key_set(json.dumps({"keys": [jwk_of(ec_key(), "k"), jwk_of(P256, "k")]}).encode())
    token = signed_token({"exp": time.time()}, P256, "k")
    assert signed_claims(token, header_of(token, JWT_ALGORITHMS), keys)
