"""The public keys of an issuer, as it publishes them (a JWKS, RFC 7517)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

KEY_SET_BYTES_MAX = 256 * 1024
KEYS_MAX = 100
RSA_BITS_MIN, RSA_BITS_MAX = 2_048, 8_192
KEY_ID_LENGTH_MAX = 256
CANDIDATES_MAX = 3
"""Keys that one signature is tried with: those of one id, or all that fit where a token names none."""

_SIGNATURES = "sig"
_VERIFY = "verify"


class KeyKind(NamedTuple):
    """`curve` is "" for RSA."""

    type: str
    curve: str = ""


_RSA = KeyKind("RSA")
KIND_OF_ALGORITHM: Mapping[str, KeyKind] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), _RSA),
    "ES256": KeyKind("EC", "P-256"),
    "ES384": KeyKind("EC", "P-384"),
    "ES512": KeyKind("EC", "P-521"),
    "EdDSA": KeyKind("OKP", "Ed25519"),
}
"""A signature is tried with a key of its algorithm's kind and with no other: what a token says of itself never decides
what a key is taken for."""

_MEMBERS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
"""What makes up a public key. Nothing else of an entry is looked at: neither a private part, nor a place elsewhere."""


class KeySetError(ValueError):
    """It cannot be used."""


class VerifyingKey(NamedTuple):
    """`id` and `algorithm` are "" where the issuer does not say them."""

    id: str
    kind: KeyKind
    algorithm: str
    public: Any

    def fits(self, algorithm: str) -> bool:
        return self.kind == KIND_OF_ALGORITHM[algorithm] and self.algorithm in {"", algorithm}


class KeySet:
    """Does not change. Made by `parse_key_set`."""

    def __init__(self, keys: Sequence[VerifyingKey], content: bytes) -> None:
        self.keys = tuple(keys)
        self._content = content

    def __len__(self) -> int:
        return len(self.keys)

    def is_same_as(self, other: "KeySet") -> bool:
        return self._content == other._content

    def candidates(self, key_id: str | None, algorithm: str) -> list[VerifyingKey]:
        """Those that a token with this header may be signed with. None where there are more than CANDIDATES_MAX: then
        it has to say which one."""
        found = [each for each in self.keys if each.fits(algorithm) and key_id in (None, each.id)]
        return found if len(found) <= CANDIDATES_MAX else []


class _KeySetDocument(msgspec.Struct):
    keys: list[dict[str, Any]]


def parse_key_set(content: bytes) -> KeySet:
    """What is of no use here (for encryption, of another kind, too short) is passed over. Where nothing is left the set
    is empty: its issuer has withdrawn what it had. Raises KeySetError for what is no set."""
    if len(content) > KEY_SET_BYTES_MAX:
        raise KeySetError(f"it has more than {KEY_SET_BYTES_MAX} bytes")
    try:
        entries = msgspec.json.decode(content, type=_KeySetDocument).keys
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KeySetError(f"it is no JWKS: {error}") from None
    if len(entries) > KEYS_MAX:
        raise KeySetError(f"it has {len(entries)} keys, the limit is {KEYS_MAX}")
    keys = [key for entry in entries if (key := _key_of(entry)) is not None]
    return KeySet(keys, content)


def _key_of(entry: Mapping[str, Any]) -> VerifyingKey | None:
    key_id, algorithm = entry.get("kid", ""), entry.get("alg", "")
    kind = KeyKind(str(entry.get("kty")), str(entry.get("crv", "")))
    if kind not in KIND_OF_ALGORITHM.values() or not _is_for_signatures(entry):
        return None
    if not isinstance(key_id, str) or len(key_id) > KEY_ID_LENGTH_MAX or not isinstance(algorithm, str):
        return None
    try:
        public = _public_key(kind, {name: entry[name] for name in _MEMBERS[kind.type]})
    except (jwt.PyJWTError, KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None  # whatever a library says of what is no key
    if isinstance(public, RSAPublicKey) and not RSA_BITS_MIN <= public.key_size <= RSA_BITS_MAX:
        return None
    return VerifyingKey(key_id, kind, algorithm, public)


def _is_for_signatures(entry: Mapping[str, Any]) -> bool:
    operations = entry.get("key_ops", [_VERIFY])
    return entry.get("use", _SIGNATURES) == _SIGNATURES and isinstance(operations, list) and _VERIFY in operations


def _public_key(kind: KeyKind, members: Mapping[str, Any]) -> Any:
    algorithm: Any = {"RSA": RSAAlgorithm, "EC": ECAlgorithm, "OKP": OKPAlgorithm}[kind.type]
    return algorithm.from_jwk({"kty": kind.type, **members})
