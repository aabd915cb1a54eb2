"""Parameters without pydantic.

Typer checks each value through a pydantic adapter, which takes a quarter of a second to import: longer than most
commands run. For text and numbers this module does the same by hand. A parameter of any other type keeps Typer's way.
"""

from collections.abc import Callable
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperOption

_KINDS = {str: str, int: int, float: float, bool: bool}
_WHAT = {int: "a whole number", float: "a number"}


class LeanCoercion:
    """Stands where Typer keeps its own coercion of a parameter's value."""

    def __init__(self, convert: Callable[[Any], Any], kind: type, *, at_least: float | None, at_most: float | None):
        self._convert = convert
        self._kind = kind
        self._at_least = at_least
        self._at_most = at_most

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the function wants it. Raises typer.BadParameter."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        if is_many:
            return [self._one(each, param, ctx) for each in value]
        return self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            converted = self._convert(value)
        except ValueError as error:
            raise typer.BadParameter(f"{value!r} is not {_WHAT[self._kind]}", ctx, param) from error
        if self._at_least is not None and converted < self._at_least:
            raise typer.BadParameter(f"{converted} is below {self._at_least}", ctx, param)
        if self._at_most is not None and converted > self._at_most:
            raise typer.BadParameter(f"{converted} is above {self._at_most}", ctx, param)
        return converted


def make_lean(parameter: Any) -> None:
    """Let a parameter of text or numbers (or a list of them) do without pydantic."""
    if not isinstance(parameter, TyperOption | TyperArgument):
        return
    annotation: Any = parameter.type_descriptor.annotation
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
    info = parameter.type_descriptor.parameter_info
    convert = _KINDS.get(annotation)
    if convert is not None and info.parser is None and info.envvar is None and not info.clamp:
        coercion = LeanCoercion(convert, annotation, at_least=info.min, at_most=info.max)
        vars(parameter)["_runtime_param"] = coercion
