"""A file for browsers in the forms that it is sent in."""

import gzip
from dataclasses import dataclass

from app.http.exchange.web_file import WebFile

GZIP = "gzip"


@dataclass(frozen=True, slots=True)
class WebFileForms:
    """As it is, and compressed once: each form has a tag of its own (RFC 9110, 8.8.3)."""

    plain: WebFile
    compressed: WebFile

    @classmethod
    def of(cls, content: bytes, media_type: str, *, caching: str = "no-cache") -> "WebFileForms":
        compressed = gzip.compress(content, mtime=0)
        return cls(
            WebFile(content, media_type, caching, has_forms=True),
            WebFile(compressed, media_type, caching, coding=GZIP, has_forms=True),
        )
