"""What may be written to a terminal: text whose control characters cannot move its cursor or change its title, nor turn
what stands around them."""

import re

_TURNS = r"\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates of the direction of writing
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNS}]")
_CONTROL_AND_BREAKS = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{_TURNS}]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """`text` with control characters spelled out; line breaks and tabs stay."""
    return _CONTROL.sub(_spelled, text)


def one_line(text: str) -> str:
    """`text` with control characters, line breaks and tabs spelled out."""
    return _CONTROL_AND_BREAKS.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    return _SHORT.get(match[0], f"\\u{ord(match[0]):04x}")
