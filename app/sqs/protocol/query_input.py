"""The older protocol's requests: parameters of a form, `Action` among them, as the calls' inputs."""

import re

import msgspec
from msgspec import inspect

from app.sqs.protocol.form import Fields
from app.sqs.protocol.input_faults import input_fault, missing
from app.sqs.protocol.parameter_tree import ParameterTree, parameter_tree
from app.sqs.protocol.wire_types import MAP_VALUE, is_collection, struct_type_of, wire_type_of
from app.sqs.shapes import CALLS
from app.sqs.sqs_error import SqsError, SqsErrorCode

ACTION = "Action"
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


def action_of(fields: Fields) -> str:
    """The operation. Which version of the API is asked for says nothing: there is one. Raises SqsError
    MISSING_ACTION, INVALID_ACTION."""
    name = fields.get(ACTION, "")
    if not name:
        raise SqsError(SqsErrorCode.MISSING_ACTION, "The request must contain the parameter Action.")
    if name not in CALLS:
        raise SqsError(SqsErrorCode.INVALID_ACTION, f"The action {name[:100]} is not valid for this endpoint.")
    return name


def parse_query(operation: str, fields: Fields) -> msgspec.Struct:
    """The call's input; parameters that nobody knows are passed over. Raises SqsError SERIALIZATION,
    INVALID_PARAMETER_VALUE, MISSING_PARAMETER."""
    shape = CALLS[operation].input
    found = _members(parameter_tree(fields), struct_type_of(shape), "")
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise input_fault(error) from None


def _members(tree: ParameterTree, type_: inspect.StructType, place: str) -> dict[str, object]:
    """As JSON would have them."""
    found: dict[str, object] = {}
    for field in type_.fields:
        wire = wire_type_of(field.type)
        name = wire.query or field.encode_name
        child = tree.children.get(name)
        if child is not None:
            found[field.encode_name] = _value(child, field.type, f"{place}{name}")
        elif field.required and _is_batch(wire.type):
            found[field.encode_name] = []  # a form cannot say otherwise that a batch is empty
    return found


def _is_batch(type_: inspect.Type) -> bool:
    return isinstance(type_, inspect.ListType) and isinstance(type_.item_type, inspect.StructType)


def _value(tree: ParameterTree, type_: inspect.Type, place: str) -> object:
    wire = wire_type_of(type_)
    if isinstance(wire.type, inspect.ListType):
        # Before there were numbers, a single value had none. A list without anything in it is an empty text.
        single = [tree.text] if tree.text and not is_collection(wire.type.item_type) and not tree.children else []
        parts = tree.numbered(place)
        return single or [_value(each, wire.type.item_type, f"{place}.{at + 1}") for at, each in enumerate(parts)]
    if isinstance(wire.type, inspect.DictType):
        parts = tree.numbered(place)
        return dict(_entry(each, wire.type, wire.key, f"{place}.{at + 1}") for at, each in enumerate(parts))
    if isinstance(wire.type, inspect.StructType):
        return _members(tree, wire.type, f"{place}.")
    if tree.text is None:
        raise missing(place)
    return _integer(tree.text, place) if isinstance(wire.type, inspect.IntType) else tree.text


def _entry(tree: ParameterTree, type_: inspect.DictType, key: str, place: str) -> tuple[str, object]:
    """Raises SqsError MISSING_PARAMETER, and what `_value` does."""
    named, value = tree.children.get(key), tree.children.get(MAP_VALUE)
    if named is None or named.text is None:
        raise missing(f"{place}.{key}")
    if value is None:
        raise missing(f"{place}.{MAP_VALUE}")
    return named.text, _value(value, type_.value_type, f"{place}.{MAP_VALUE}")


def _integer(text: str, place: str) -> int:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        detail = f"Value {text[:100]} for parameter {place} is invalid. Reason: Must be an integer."
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
    return int(text)
