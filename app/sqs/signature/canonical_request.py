"""The one text that both sides make of a request, whatever was done to it on the way that changes no meaning.

As documented under "Create a signed AWS API request". The rules for paths are those of all services but S3: the path is
tidied, and what the client has encoded is encoded once more.
"""

from collections.abc import Sequence

from app.sqs.signature.query_parameters import QueryParameters, canonical_query
from app.sqs.signature.received_request import ReceivedRequest
from app.sqs.signature.uri_encoding import uri_encoded


def canonical_request(
    request: ReceivedRequest, parameters: QueryParameters, *, signed_headers: Sequence[bytes], body_digest: bytes
) -> bytes:
    """`parameters`: those that are signed. `signed_headers` are in their order; each is in the request."""
    return b"\n".join(
        (
            request.method.encode(),
            canonical_path(request.raw_path),
            canonical_query(parameters),
            _canonical_headers(request.headers, signed_headers),
            b";".join(signed_headers),
            body_digest,
        )
    )


def canonical_path(raw_path: bytes) -> bytes:
    """Without `.`, `..` and empty segments (RFC 3986), and encoded."""
    if raw_path == b"/":
        return raw_path  # nearly always
    segments: list[bytes] = []
    for segment in raw_path.split(b"/"):
        if segment == b"..":
            del segments[-1:]
        elif segment not in (b"", b"."):
            segments.append(segment)
    path = b"/" + b"/".join(segments)
    if segments and raw_path.endswith(b"/"):
        path += b"/"
    return uri_encoded(path, kept="/")


def _canonical_headers(headers: Sequence[tuple[bytes, bytes]], signed: Sequence[bytes]) -> bytes:
    """Each line ends with a line end, the last one too. What a header says several times is one list."""
    values: dict[bytes, list[bytes]] = {name: [] for name in signed}
    for name, value in headers:
        if name in values:
            values[name].append(b" ".join(value.split()))
    return b"".join(name + b":" + b",".join(values[name]) + b"\n" for name in signed)
