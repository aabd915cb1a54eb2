"""What the query protocol calls the parts of a collection: it stands beside the collection's type."""

from msgspec import Meta

QUERY, KEY = "query", "key"
DEFAULT_KEY = "Name"


def parts(query: str, key: str = DEFAULT_KEY) -> Meta:
    """`key` is the name of the key of a map's part."""
    names = {QUERY: query, KEY: key}
    return Meta(extra=names)
