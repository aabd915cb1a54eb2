"""Types of the calls as the query protocol goes through them: without what is optional, with the names of parts."""

from functools import cache
from typing import Any, NamedTuple, TypeGuard

from msgspec import Struct, inspect

from app.sqs.part_names import DEFAULT_KEY, KEY, QUERY

MAP_VALUE = "Value"


class WireType(NamedTuple):
    """`query` and `key` are the names that a collection gives; "" for what is none."""

    type: inspect.Type
    query: str = ""
    key: str = DEFAULT_KEY


@cache
def struct_type_of(struct: type[Struct]) -> inspect.StructType:
    found = inspect.type_info(struct)
    assert isinstance(found, inspect.StructType), "shapes are structs"
    return found


def wire_type_of(type_: inspect.Type) -> WireType:
    """Without what says that it may be missing."""
    names: dict[str, Any] = {}
    while True:
        if isinstance(type_, inspect.Metadata):
            names |= type_.extra or {}
            type_ = type_.type
        elif isinstance(type_, inspect.UnionType):
            type_ = next(each for each in type_.types if not isinstance(each, inspect.NoneType))
        else:
            return WireType(type_, names.get(QUERY, ""), names.get(KEY, DEFAULT_KEY))


def is_collection(type_: inspect.Type) -> TypeGuard[inspect.ListType | inspect.DictType]:
    return isinstance(type_, inspect.ListType | inspect.DictType)
