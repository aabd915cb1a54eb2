"""Query parameters: one declaration each, from which both the parser and openapi.yaml are made.

Unknown parameters are refused, single-valued ones may stand once, and numbers are plain decimal digits: no sign, no
fraction, no exponent, no digits of other scripts.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote_plus

from acklog.wire.names import FULL_NAME_PATTERN
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

PARAMETERS_MAX = 100
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`parse` takes the decoded text and raises ValueError with a sentence that says what is wrong."""

    name: str
    parse: Callable[[str], object]
    schema: dict[str, object]
    description: str = ""
    values_max: int = 1
    example: object = None
    is_required: bool = False


class Arguments:
    """The parsed parameters of one request, with the type that each one's declaration gave it."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, list[object]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def add(self, name: str, value: object, *, values_max: int) -> bool:
        """Whether there was room for one more value."""
        found = self._values.setdefault(name, [])
        if len(found) >= values_max:
            return False
        found.append(value)
        return True

    def text(self, name: str) -> str | None:
        return cast("str | None", self.value(name))

    def integer(self, name: str) -> int | None:
        return cast("int | None", self.value(name))

    def number(self, name: str) -> float | None:
        return cast("float | None", self.value(name))

    def switch(self, name: str) -> bool:
        return bool(self.value(name))

    def texts(self, name: str) -> list[str]:
        return cast("list[str]", self._values.get(name, []))

    def value(self, name: str) -> object:
        """The first value, or None."""
        values = self._values.get(name)
        return values[0] if values else None


NO_ARGUMENTS = Arguments()


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The parameters that one call takes."""

    parameters: tuple[Parameter, ...]
    by_name: dict[str, Parameter] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.parameters})

    def parse(self, query: bytes) -> Arguments:
        """What is there. Raises ServerError UNKNOWN_FIELD, INVALID_FIELD, MISSING_FIELD."""
        arguments = Arguments() if query else NO_ARGUMENTS
        parts = query.split(b"&")
        if len(parts) > PARAMETERS_MAX:
            raise ServerError(ProblemCode.INVALID_FIELD, f"the query has more than {PARAMETERS_MAX} parameters")
        for part in parts:
            if not part:
                continue
            name, _, text = part.partition(b"=")
            parameter, value = self._one(_unquote(name, "query"), text)
            if not arguments.add(parameter.name, value, values_max=parameter.values_max):
                times = "once" if parameter.values_max == 1 else f"{parameter.values_max} times"
                raise ServerError(ProblemCode.INVALID_FIELD, f"may be given {times} at most", field=parameter.name)
        for each in self.parameters:
            if each.is_required and each.name not in arguments:
                raise ServerError(ProblemCode.MISSING_FIELD, f"{each.name} is required", field=each.name)
        return arguments

    def _one(self, name: str, text: bytes) -> tuple[Parameter, object]:
        parameter = self.by_name.get(name)
        if parameter is None:
            known = ", ".join(self.by_name) or "none"
            detail = f"{name[:100]!r} is not a known parameter here; known: {known}"
            raise ServerError(ProblemCode.UNKNOWN_FIELD, detail, field=name[:100])
        try:
            return parameter, parameter.parse(_unquote(text, name))
        except ValueError as error:
            raise ServerError(ProblemCode.INVALID_FIELD, str(error), field=name) from None


def _unquote(text: bytes, field_name: str) -> str:
    try:
        return unquote_plus(text.decode(), errors="strict")
    except UnicodeDecodeError:
        raise ServerError(ProblemCode.INVALID_FIELD, "is not valid UTF-8", field=field_name) from None


NO_PARAMETERS = QueryTable(())


def integer(name: str, minimum: int, maximum: int, description: str, *, default: int | None = None) -> Parameter:
    def parse(text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text) or not minimum <= int(text) <= maximum:
            raise ValueError(f"must be a whole number, {minimum} to {maximum}")
        return int(text)

    schema: dict[str, object] = {"type": "integer", "minimum": minimum, "maximum": maximum}
    if default is not None:
        schema["default"] = default
    return Parameter(name, parse, schema, description)


def number(name: str, minimum: float, maximum: int, description: str) -> Parameter:
    """Whole or decimal (`0.5`), for durations in seconds."""

    def parse(text: str) -> float:
        if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,6})?", text) or not minimum <= float(text) <= maximum:
            raise ValueError(f"must be a number, {minimum} to {maximum}, with at most 6 decimals")
        return float(text)

    return Parameter(name, parse, {"type": "number", "minimum": minimum, "maximum": maximum}, description)


def text(name: str, length_max: int, description: str, *, length_min: int = 1) -> Parameter:
    def parse(value: str) -> str:
        if not length_min <= len(value) <= length_max:
            raise ValueError(f"must have {length_min} to {length_max} characters")
        return value

    schema: dict[str, object] = {"type": "string", "minLength": length_min, "maxLength": length_max}
    return Parameter(name, parse, schema, description)


def name(parameter: str, description: str, *, values_max: int = 1) -> Parameter:
    """The name of a topic or a group. Whether it is one is checked where it is looked up (INVALID_NAME)."""
    return Parameter(
        parameter, str, {"type": "string", "pattern": FULL_NAME_PATTERN}, description, values_max, example="orders"
    )


def switch(name: str, description: str) -> Parameter:
    def parse(value: str) -> bool:
        if value not in {"true", "false"}:
            raise ValueError("must be true or false")
        return value == "true"

    return Parameter(name, parse, {"type": "boolean", "default": False}, description)


def choice(name: str, values: tuple[str, ...], description: str) -> Parameter:
    def parse(value: str) -> str:
        if value not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return value

    return Parameter(name, parse, {"type": "string", "enum": list(values)}, description)
