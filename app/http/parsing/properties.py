"""What can be said of a message, or of a send, is declared once, as `Annotated` beside the field of a struct: the field
gives its name and its type in JSON, a `Property` the rest. Both parsers (of JSON, and of the query beside a raw body),
openapi.yaml and the table of limits in the README are made from these declarations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from app.http.parsing import query
from app.http.parsing.json_schema import Schema, or_null
from app.http.parsing.query import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """`parameter` makes the query's parameter from the name, where it may stand
    there. `fault` says what is wrong with a value of the right type, `item_fault` with one of its items.

    `strings_max`: how many strings its JSON can hold at most; more are refused, as more than `items_max` items, before
    anything is made of them. `limit` is a row of the README's table: what is limited, and to what.
    """

    schema: Schema
    parameter: Callable[[str], Parameter] | None = None
    fault: Callable[[Any], str | None] | None = None
    item_fault: Callable[[Any], str | None] | None = None
    items_max: int = 0
    strings_max: int = 0
    limit: tuple[str, str] | None = None


class Declared(NamedTuple):
    """`attribute` is the struct's name for it, `name` that of JSON and of the query."""

    attribute: str
    name: str
    property: Property


def declared_in(struct: type[msgspec.Struct]) -> list[Declared]:
    """In the struct's order."""
    return [
        Declared(field.name, field.encode_name, each)
        for field in msgspec.structs.fields(struct)
        for each in getattr(field.type, "__metadata__", ())
        if isinstance(each, Property)
    ]


def schemas_of(declared: list[Declared]) -> dict[str, Schema]:
    """By name."""
    return {each.name: each.property.schema for each in declared}


def parameters_of(declared: list[Declared]) -> tuple[Parameter, ...]:
    """The query's, for those that may stand there."""
    return tuple(each.property.parameter(each.name) for each in declared if each.property.parameter is not None)


# --- the usual kinds -----------------------------------------------------------------------------------------------


def text(
    bytes_max: int,
    description: str,
    fault: Callable[[str], str | None],
    *,
    bytes_min: int = 0,
    limit: tuple[str, str] | None = None,
) -> Property:
    """A string of so many bytes in UTF-8."""

    def parameter(name: str) -> Parameter:
        return query.text(name, bytes_max, beside_raw(description), length_min=bytes_min)

    at_least: Schema = {"minLength": bytes_min} if bytes_min else {}
    schema: Schema = {"type": "string", **at_least, "maxLength": bytes_max, "description": description}
    return Property(schema=or_null(schema), parameter=parameter, fault=fault, limit=limit)


def whole_number(minimum: int, maximum: int, description: str, wrong: str) -> Property:
    """`wrong` is what is said of one that is out of bounds in JSON."""

    def fault(value: int) -> str | None:
        return None if minimum <= value <= maximum else wrong

    def parameter(name: str) -> Parameter:
        return query.integer(name, minimum, maximum, beside_raw(description))

    schema: Schema = {"type": "integer", "minimum": minimum, "maximum": maximum, "description": description}
    return Property(schema=or_null(schema), parameter=parameter, fault=fault)


def beside_raw(description: str) -> str:
    return f"{description} (raw bodies)"
