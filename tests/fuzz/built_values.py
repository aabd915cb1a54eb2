"""A value of any type that is written to a disk or a wire, made from its declaration: so that whatever is added to a
message or a record is in the seeds, too."""

from typing import Any, TypeVar

import msgspec
from msgspec import inspect

_Kind = TypeVar("_Kind")
_TEXT = "0123456789abc"


def built(kind: type[_Kind], variant: int = 0) -> _Kind:
    """`variant` decides which of several types stands where there is a choice, and how large numbers are."""
    found: _Kind = msgspec.convert(_plain(inspect.type_info(kind), variant), kind, builtin_types=(bytes, bytearray))
    return found


def _plain(described: inspect.Type, variant: int) -> Any:
    match described:
        case inspect.Metadata():
            return _plain(described.type, variant)
        case inspect.UnionType():
            return _plain(described.types[variant % len(described.types)], variant)
        case inspect.StructType():
            return _struct(described, variant)
        case inspect.NamedTupleType():
            return [_plain(each.type, variant) for each in described.fields]
        case inspect.TupleType():
            return [_plain(each, variant) for each in described.item_types]
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return [_plain(described.item_type, variant)]
        case inspect.DictType():
            return {_plain(described.key_type, variant): _plain(described.value_type, variant)}
        case inspect.EnumType():
            members = list(described.cls)
            return members[variant % len(members)].value
        case _:
            return _scalar(described, variant)


def _scalar(described: inspect.Type, variant: int) -> Any:
    match described:
        case inspect.IntType():
            return max(described.ge or 0, variant)
        case inspect.FloatType():
            return float(variant)
        case inspect.StrType():
            return _TEXT
        case inspect.BytesType():
            return b"bytes"
        case inspect.ByteArrayType():
            return bytearray(b"bytes")
        case inspect.BoolType():
            return bool(variant % 2)
        case inspect.LiteralType():
            return described.values[0]
        case inspect.NoneType() | inspect.AnyType() | inspect.CustomType():
            return None
    raise NotImplementedError(f"a value of {described}")


def _struct(described: inspect.StructType, variant: int) -> Any:
    values = {each.encode_name: _plain(each.type, variant) for each in described.fields}
    if described.array_like:
        return [*([] if described.tag is None else [described.tag]), *values.values()]
    return values if described.tag_field is None else {described.tag_field: described.tag, **values}
