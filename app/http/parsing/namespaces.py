"""What `/namespaces` takes."""

import msgspec

from acklog.wire import limits
from app.calls.namespaces import NamespaceFields
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode

LISTED_DEFAULT = 100
NAMESPACES_QUERY = query.QueryTable(
    (
        query.integer("limit", 1, limits.NAMESPACES_LISTED_MAX, "namespaces at most", default=LISTED_DEFAULT),
        query.text("after", limits.NAMESPACE_LENGTH_MAX, "only names behind this one: `next` of the page before"),
    )
)

_decoder = msgspec.json.Decoder(NamespaceFields)


def parse_namespace(body: bytes) -> NamespaceFields:
    """An empty body means a namespace without limits. Raises ServerError."""
    if not body:
        return NamespaceFields()
    check_utf8(body)
    return decode(_decoder, body)


def parse_namespace_page(query_string: bytes) -> tuple[int, str]:
    """(how many, after which name). Raises ServerError."""
    arguments = NAMESPACES_QUERY.parse(query_string)
    return arguments.integer("limit") or LISTED_DEFAULT, arguments.text("after") or ""
