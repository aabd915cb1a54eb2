"""What JSON should have held where it is wrong, in the words of JSON instead of the decoder's."""

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

TEXT_CHARACTERS_MAX = 300
_TYPES = re.compile(r"Expected `(?P<expected>[^`]*)`(?P<bound>[^,`]*)(?:, got `(?P<found>[^`]*)`)?")
_NAMES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_FOUND = {**_NAMES, "float": "a fraction", "bool": "a boolean"}


def expected_text(what: str, fitting: list[str]) -> str:
    """What msgspec says is wrong with a value, as a sentence that follows the field's name. `fitting` holds the values
    that are possible where only some are."""
    if what.startswith("Invalid enum value") and fitting:
        return f"must be one of {', '.join(fitting)}"
    match = _TYPES.fullmatch(what)
    if match is None:
        return what.replace("`", "")[:TEXT_CHARACTERS_MAX]
    expected = " or ".join(_NAMES.get(part, part) for part in match["expected"].split(" | "))
    text = f"must be {expected}{match['bound']}"
    return text if match["found"] is None else f"{text}, not {_FOUND.get(match['found'], match['found'])}"


def what_fits(type_: Any, path: str) -> list[str]:
    """The fields of the object, or the values of the enumeration, that stand at `path` (".settings.mode") in JSON of
    this type; nothing where anything else does, or where the path leads through an array."""
    if type_ is None:
        return []
    current = _not_null(_description(type_))
    for name in path.split(".")[1:]:
        if not isinstance(current, inspect.StructType):
            return []
        field = next((field for field in current.fields if field.encode_name == name), None)
        if field is None:
            return []
        current = _not_null(field.type)
    if isinstance(current, inspect.StructType):
        return [field.encode_name for field in current.fields]
    if isinstance(current, inspect.EnumType):
        return [str(member.value) for member in current.cls]
    return []


@lru_cache(maxsize=64)
def _description(type_: Any) -> inspect.Type:
    return msgspec.inspect.type_info(type_)


def _not_null(description: inspect.Type) -> inspect.Type:
    """The one type behind a value that may be null or left out."""
    while isinstance(description, inspect.Metadata):
        description = description.type
    if not isinstance(description, inspect.UnionType):
        return description
    types = [each for each in description.types if not isinstance(each, inspect.NoneType)]
    return types[0] if len(types) == 1 else description
