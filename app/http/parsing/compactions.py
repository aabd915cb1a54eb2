"""What `POST /topics/{topic}/compact` takes."""

import msgspec

from app.calls.compactions import CompactFields
from app.http.parsing.json_text import check_utf8, decode

_decoder = msgspec.json.Decoder(CompactFields)


def parse_compact(body: bytes) -> CompactFields:
    """An empty body names all of the topic. Raises ServerError."""
    if not body:
        return CompactFields()
    check_utf8(body)
    return decode(_decoder, body)
