"""Percent-encoding as signatures want it: all but letters, digits, `-`, `.`, `_` and `~`, in capitals."""

from urllib.parse import quote, unquote_to_bytes


def uri_encoded(value: bytes, *, kept: str = "") -> bytes:
    """`kept`: what else stays as it is."""
    return quote(value, safe=kept + "~").encode()


def form_decoded(value: bytes) -> bytes:
    """Of a name or a value in a query: `+` is a space there, as it is to whoever reads the query."""
    return unquote_to_bytes(value.replace(b"+", b" "))
