"""What a signed token says of who shows it, as texts that rules can be compared with."""

from collections.abc import Mapping, Sequence

Claims = Mapping[str, object]

_WORD_LISTS = frozenset({"scope", "scp"})
"""Claims whose text is a list of words with spaces between them (RFC 8693, 4.2)."""


def texts_of(claims: Claims, path: str) -> tuple[str, ...]:
    """The values of a claim: one, or those of a list; none where there is no such claim. What is neither a text nor a
    whole number nor true or false is no value.

    `path` is the claim's name, which may have dots itself (`https://example.org/roles`), or leads through objects.
    """
    return tuple(text for text in map(_text_of, _values_of(claims, path)) if text is not None)


def is_beyond_texts(claims: Claims, path: str) -> bool:
    """Whether the claim says something that is no value: a fraction, an object, a list in a list."""
    return any(value is not None and _text_of(value) is None for value in _values_of(claims, path))


def _values_of(claims: Claims, path: str) -> Sequence[object]:
    value = claims[path] if path in claims else _at_end_of(claims, path)
    if isinstance(value, str) and path in _WORD_LISTS:
        return value.split()
    return value if isinstance(value, list) else [value]


def _at_end_of(claims: Claims, path: str) -> object:
    value: object = claims
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None
