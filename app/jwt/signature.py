"""Who has signed a token: its header says which key to try, and nothing else of it counts before that key is found to
fit."""

from typing import NamedTuple

import jwt
from jwt.utils import base64url_decode

from app.auth.claims import Claims
from app.jwt.jwt_refused import JwtRefusal, JwtRefusedError
from app.jwt.key_set import KEY_ID_LENGTH_MAX, KeySet
from app.jwt.plain_object import PlainObjectError, plain_object

_JWS = jwt.PyJWS()
"""Takes one spelling of a token but for padding, and no header with an extension that it would have to understand."""

_PADDING = "="
"""Has no place in a token (RFC 7515, 2), and would make a second spelling of it."""


class JwtHeader(NamedTuple):
    """Where keys are (`jku`, `x5u`), and keys themselves (`jwk`, `x5c`), are not read: who makes a token up would be
    asked for the key to it."""

    algorithm: str
    key_id: str | None


def header_of(token: str, algorithms: tuple[str, ...]) -> JwtHeader:
    """Raises JwtRefusedError."""
    if _PADDING in token:
        raise JwtRefusedError(JwtRefusal.FORM, "a part of it has padding")
    try:
        _JWS.get_unverified_header(token)
        header = plain_object(base64url_decode(token.partition(".")[0]))
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise JwtRefusedError(JwtRefusal.FORM, f"its header cannot be read: {error}") from None
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise JwtRefusedError(JwtRefusal.ALGORITHM, f"it says that it is signed with {str(algorithm)[:40]!r}")
    if key_id is not None and (not isinstance(key_id, str) or len(key_id) > KEY_ID_LENGTH_MAX):
        raise JwtRefusedError(JwtRefusal.FORM, "its header names no key")
    return JwtHeader(algorithm, key_id)


def signed_claims(token: str, header: JwtHeader, keys: KeySet) -> Claims:
    """What the issuer has signed. Raises JwtRefusedError: KEY, where none of these keys may be the one."""
    candidates = keys.candidates(header.key_id, header.algorithm)
    if not candidates:
        raise JwtRefusedError(JwtRefusal.KEY, f"the issuer has no key {str(header.key_id)[:80]!r} of its kind")
    for key in candidates:
        try:
            payload = _JWS.decode_complete(token, key.public, algorithms=[header.algorithm])["payload"]
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            continue
        return _claims_in(payload)
    raise JwtRefusedError(JwtRefusal.SIGNATURE, "it is not signed with the key that it names")


def unverified_claims(token: str) -> Claims:
    """What it says, whoever has made it up: good for nothing but to see whether it is worth looking for its key. Raises
    JwtRefusedError."""
    try:
        payload = _JWS.decode_complete(token, options={"verify_signature": False})["payload"]
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise JwtRefusedError(JwtRefusal.FORM, f"it cannot be read: {error}") from None
    return _claims_in(payload)


def _claims_in(payload: bytes) -> Claims:
    try:
        return plain_object(payload)
    except PlainObjectError as error:
        told = f"the token holds no claims: {error}"
        raise JwtRefusedError(JwtRefusal.CLAIMS, told, told=told) from None
