"""Which keys of an issuer's are taken, and for which signatures."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from app.configuration.jwt_options import JWT_ALGORITHMS
from app.jwt.key_set import (
    CANDIDATES_MAX,
    KEY_ID_LENGTH_MAX,
    KEY_SET_BYTES_MAX,
    KEYS_MAX,
    KIND_OF_ALGORITHM,
    KeySet,
    KeySetError,
    parse_key_set,
)
from tests.support.local_issuer import ec_key, jwk_of, rsa_key

RSA = rsa_key()
P256, P384, P521 = ec_key(), ec_key(ec.SECP384R1()), ec_key(ec.SECP521R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()


def key_set(*entries: object) -> KeySet:
    return parse_key_set(json.dumps({"keys": entries}).encode())


def test_each_algorithm_that_may_be_asked_for_has_one_kind_of_key() -> None:
    assert sorted(KIND_OF_ALGORITHM) == sorted(JWT_ALGORITHMS)
    keys = key_set(*(jwk_of(key, "k") for key in (RSA, P256, P384, P521, ED25519)))
    assert len(keys) == 5
    for algorithm, kind in KIND_OF_ALGORITHM.items():
        assert [each.kind for each in keys.candidates("k", algorithm)] == [kind]


def test_what_a_key_is_for_is_what_it_is_taken_for() -> None:
    keys = key_set(
        jwk_of(RSA, "any"),
        jwk_of(RSA, "one", alg="PS256"),
        jwk_of(RSA, "secret", use="enc"),
        jwk_of(RSA, "wrap", key_ops=["encrypt"]),
        jwk_of(RSA, "check", key_ops=["verify"]),
    )
    assert [each.id for each in keys.candidates(None, "RS256")] == ["any", "check"]
    assert [each.id for each in keys.candidates(None, "PS256")] == ["any", "one", "check"]
    assert not keys.candidates("one", "RS256")


def test_a_key_that_both_sides_have_is_no_key() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "kid": "k", "alg": "HS256"}
    assert len(key_set(jwk_of(P256, "p"), secret)) == 1
    assert len(key_set(secret)) == 0


@pytest.mark.parametrize("entries", [[], [{}], [{"kty": "oct", "k": "AAAA"}], [jwk_of(RSA, "secret", use="enc")]])
def test_a_set_without_a_key_for_signatures_is_empty_and_no_failure(entries: list[object]) -> None:
    """Its issuer has withdrawn all of them."""
    assert key_set(*entries).keys == ()


def test_a_private_part_that_somebody_published_is_not_read() -> None:
    keys = key_set({**jwk_of(RSA, "k"), "d": "AQAB"}, {**jwk_of(P256, "k"), "d": "AQAB"})
    assert all(not hasattr(each.public, "private_numbers") for each in keys.keys)
    assert len(keys) == 2


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"kty": "RSA"},
        {"kty": ["RSA"]},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "RSA", "n": "", "e": "AQAB"},
        {"kty": "RSA", "n": "!!!", "e": ""},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": ["P-256"], "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43},
        {**jwk_of(P256, "k"), "kid": 5},
        {**jwk_of(P256, "k"), "kid": "k" * (KEY_ID_LENGTH_MAX + 1)},
        {**jwk_of(P256, "k"), "alg": 5},
        {**jwk_of(P256, "k"), "use": 5},
        {**jwk_of(P256, "k"), "key_ops": 5},
        {**jwk_of(P256, "k"), "y": jwk_of(ec_key(), "k")["y"]},
        jwk_of(rsa_key(1024), "short"),
    ],
)
def test_what_is_no_key_is_passed_over(entry: dict[str, object]) -> None:
    assert [each.id for each in key_set(entry, jwk_of(P256, "good")).keys] == ["good"]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b'{"keys": 5}', b'{"keys": [5]}', b"\xff", b'{"keys": [{"a": "\xff"}]}'),
        b'{"keys": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_key_set(content: bytes) -> None:
    with pytest.raises(KeySetError):
        parse_key_set(content)


def test_limits() -> None:
    entry = jwk_of(P256, "k" * KEY_ID_LENGTH_MAX)
    assert len(key_set(*[entry] * KEYS_MAX)) == KEYS_MAX
    with pytest.raises(KeySetError, match=f"the limit is {KEYS_MAX}"):
        key_set(*[entry] * (KEYS_MAX + 1))
    content = json.dumps({"keys": [jwk_of(P256, "k")]}).encode()
    assert parse_key_set(content.ljust(KEY_SET_BYTES_MAX))
    with pytest.raises(KeySetError, match=f"more than {KEY_SET_BYTES_MAX} bytes"):
        parse_key_set(content.ljust(KEY_SET_BYTES_MAX + 1))


def test_a_token_is_tried_with_so_many_keys() -> None:
    entry = jwk_of(P256, None)
    assert len(key_set(*[entry] * CANDIDATES_MAX).candidates(None, "ES256")) == CANDIDATES_MAX
    assert not key_set(*[entry] * (CANDIDATES_MAX + 1)).candidates(None, "ES256")
