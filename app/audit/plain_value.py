"""Values as they stand in a record: JSON's, none longer than a limit, and nothing in them that moves text about."""

from typing import Any

import msgspec

VALUE_LENGTH_MAX = 1_000
"""Characters of JSON text of one value; a longer one is cut, and is a text then."""


def plain(value: object) -> object:
    found = _printable(msgspec.to_builtins(value))
    text = msgspec.json.encode(found).decode()
    return found if len(text) <= VALUE_LENGTH_MAX else f"{text[:VALUE_LENGTH_MAX]}…"


def printable(text: str) -> str:
    """Without control characters, and those that turn the direction of writing."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(name)): _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value
