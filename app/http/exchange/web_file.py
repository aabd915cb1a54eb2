"""Files for browsers: what one may do with them, and how they are sent."""

from dataclasses import dataclass, field
from hashlib import blake2b

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

CHUNK_BYTES = 64 * 1024

# The page may show what came from here and ask nobody else. Nobody may put it into a frame and have somebody click
# in it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class WebFile:
    """What one address answers with. By default it is asked for anew each time (`no-cache`), and sent if it is another
    than the browser has: after an upgrade nobody has half of the old page. `coding` is how `content` is packed, of
    a file that has several forms (`has_forms`), of which each client gets one."""

    content: bytes = field(repr=False)
    media_type: str
    caching: str = "no-cache"
    coding: str | None = None
    has_forms: bool = False
    etag: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "etag", f'"{blake2b(self.content, digest_size=16).hexdigest()}"')

    def headers(self) -> dict[str, str]:
        return {
            "content-type": self.media_type,
            "content-length": str(len(self.content)),
            **({"content-encoding": self.coding} if self.coding else {}),
            **self.unchanged_headers(),
        }

    def unchanged_headers(self) -> dict[str, str]:
        """Those of an answer without content, to a browser that has it already."""
        return {
            "etag": self.etag,
            "cache-control": self.caching,
            **({"vary": "accept-encoding"} if self.has_forms else {}),
            "content-security-policy": POLICY,
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
        }

    def is_known_to(self, if_none_match: str | None) -> bool:
        """Whether the header names it (RFC 9110, 13.1.2; a proxy that compresses makes tags weak)."""
        if if_none_match is None:
            return False
        tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
        return self.etag in tags or "*" in tags


class WebFileResponse(Response):
    """Handed over in pieces, each once there is room for it: however slowly many read a file of some MB, the server has
    it in memory once."""

    def __init__(self, file: WebFile, if_none_match: str | None) -> None:
        is_known = file.is_known_to(if_none_match)
        headers = file.unchanged_headers() if is_known else file.headers()
        self.status_code = 304 if is_known else 200
        self.body = b"" if is_known else file.content
        self.background = None
        self.raw_headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        body = b"" if scope["method"] == "HEAD" else bytes(self.body)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for start in range(0, max(1, len(body)), CHUNK_BYTES):
            piece = body[start : start + CHUNK_BYTES]
            await send({"type": "http.response.body", "body": piece, "more_body": start + CHUNK_BYTES < len(body)})
