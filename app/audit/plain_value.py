"""Values as they stand in a record: JSON's, and none longer than a limit."""

import msgspec

VALUE_LENGTH_MAX = 1_000
"""Characters of JSON text of one value; a longer one is cut, and is a text then."""


def plain(value: object) -> object:
    found = msgspec.to_builtins(value)
    text = msgspec.json.encode(found).decode()
    return found if len(text) <= VALUE_LENGTH_MAX else f"{text[:VALUE_LENGTH_MAX]}…"
