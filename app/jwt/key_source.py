"""Where an issuer's keys come from: a file, a URL, or what the issuer says of itself (OpenID Connect Discovery)."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from app.configuration.jwt_options import JwtOptions, url_fault
from app.jwt.key_set import KEY_SET_BYTES_MAX

WELL_KNOWN = "/.well-known/openid-configuration"


class KeySourceError(Exception):
    """The keys cannot be had from there now."""


KeySource = Callable[[], Awaitable[bytes]]
"""The content of a JWKS, of KEY_SET_BYTES_MAX at most. Raises KeySourceError."""


class DocumentFetch(Protocol):
    """Reads what is at a URL, at most so many bytes of it, and follows no redirection: whoever could redirect us could
    give us keys. Raises KeySourceError."""

    async def __call__(self, url: str, *, bytes_max: int) -> bytes: ...


def source_of(options: JwtOptions, *, fetch: DocumentFetch, read_file: Callable[[str], Awaitable[bytes]]) -> KeySource:
    """As the options say. `read_file` raises KeySourceError, too."""
    if options.jwt_keys_file:
        return lambda: read_file(options.jwt_keys_file)
    if options.jwt_keys_url:
        return lambda: fetch(options.jwt_keys_url, bytes_max=KEY_SET_BYTES_MAX)
    return DiscoveredKeys(options.jwt_issuer, fetch)


class _Discovery(msgspec.Struct):
    """Of what an issuer says of itself, what is of use here."""

    issuer: str
    jwks_uri: str


class DiscoveredKeys:
    """Discovered with each look: an issuer may move its keys."""

    def __init__(self, issuer: str, fetch: DocumentFetch) -> None:
        self._issuer = issuer
        self._fetch = fetch

    async def __call__(self) -> bytes:
        url = self._issuer.rstrip("/") + WELL_KNOWN
        found = _discovery(await self._fetch(url, bytes_max=KEY_SET_BYTES_MAX), url)
        if found.issuer != self._issuer:
            raise KeySourceError(f"{url} is of the issuer {found.issuer[:200]!r}, and jwt_issuer is {self._issuer!r}")
        fault = url_fault(found.jwks_uri)
        if fault is not None:
            raise KeySourceError(f"jwks_uri of {url} {fault}")
        return await self._fetch(found.jwks_uri, bytes_max=KEY_SET_BYTES_MAX)


def _discovery(content: bytes, url: str) -> _Discovery:
    """Raises KeySourceError."""
    try:
        return msgspec.json.decode(content, type=_Discovery)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KeySourceError(f"{url} is no OpenID configuration: {error}") from None
