"""Files of the documentation's page, as they lie in the package, and how a browser may use them."""

import pkgutil
from dataclasses import dataclass, field
from hashlib import blake2b

_CSS = "text/css; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
PACKAGED = {
    "swagger-ui-bundle.js": ("swagger_ui/swagger-ui-bundle.js", _SCRIPT),
    "swagger-ui.css": ("swagger_ui/swagger-ui.css", _CSS),
    "start.js": ("web/start.js", _SCRIPT),
    "page.css": ("web/page.css", _CSS),
}
"""Name in the URL to (path in this package, media type)."""

# The page may show what came from here and ask nobody else. `data:` are the icons in Swagger UI's stylesheet. Nobody
# may put the page into a frame and have somebody click in it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class WebFile:
    """What one address answers with. It is asked for anew each time (`no-cache`), and sent if it is another than the
    browser has: after an upgrade nobody has half of the old page."""

    content: bytes = field(repr=False)
    media_type: str
    etag: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "etag", f'"{blake2b(self.content, digest_size=16).hexdigest()}"')

    def headers(self) -> dict[str, str]:
        return {
            "content-type": self.media_type,
            "content-length": str(len(self.content)),
            **self.unchanged_headers(),
        }

    def unchanged_headers(self) -> dict[str, str]:
        """Those of an answer without content, to a browser that has it already."""
        return {
            "etag": self.etag,
            "cache-control": "no-cache",
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


def packaged(name: str) -> WebFile:
    """Reads a file of `PACKAGED`. Raises OSError."""
    path, media_type = PACKAGED[name]
    content = pkgutil.get_data("app.http.description", path)
    if content is None:
        raise FileNotFoundError(path)
    return WebFile(content, media_type)
