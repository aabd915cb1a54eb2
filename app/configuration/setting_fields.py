"""Settings that are fields of dataclasses: each has a default, an environment variable and a command-line option, and
says what it is for and what it may be. Both sources are converted and checked alike."""

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from app.configuration.environment_variables import is_foreign

_Settings = TypeVar("_Settings")

ENVIRONMENT_PREFIX = "ACKLOG_"
NODE_PREFIX = "ACKLOG_NODE_"  # the storage node's own, see `app.configuration.node_settings`
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class SettingsError(ValueError):
    """A setting is not usable; the text names it, where it came from and what it may be."""


def number(default: int, minimum: int, maximum: int, text: str) -> Any:
    return field(default=default, metadata={"help": text, "minimum": minimum, "maximum": maximum})


def text(default: str, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def switch(default: bool, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def option_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.upper()


def where_to_set(name: str) -> str:
    """For texts that say what to do."""
    return f"{option_of(name)}, {variable_of(name)}"


def check_fields(settings: Any) -> None:
    """That every field has its type and is within its bounds; raises SettingsError."""
    for each in fields(settings):
        _check(each, getattr(settings, each.name), source=each.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSources:
    """What one command takes: the fields of some settings classes, `without` those that mean nothing to it, and with
    `defaults` of its own for some."""

    program: str
    kinds: Sequence[type[Any]]
    without: Collection[str] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)

    def known(self) -> "dict[str, Field[Any]]":
        return {each.name: each for kind in self.kinds for each in fields(kind) if each.name not in self.without}

    def variables(self) -> list[str]:
        """The environment variables that are settings of the command."""
        return [variable_of(name) for name in self.known()]

    def default_of(self, name: str) -> object:
        return self.defaults.get(name, self.known()[name].default)

    def load(self, environment: Mapping[str, str], arguments: Sequence[str] = ()) -> "LoadedSettings":
        """From the environment, overridden by command-line options. Raises SettingsError. Variables that are no setting
        are passed over; `app.configuration.environment_variables` says which they are."""
        known = self.known()
        values: dict[str, Any] = dict(self.defaults)
        for name, each in known.items():
            variable = variable_of(name)
            if variable in environment and not is_foreign(variable, environment[variable]):
                values[name] = _convert(each, environment[variable], source=variable)
        options = vars(self.parser().parse_args(list(arguments)))
        for name, given in options.items():
            if given is not None:
                values[name] = _convert(known[name], given, source=option_of(name))
        return LoadedSettings(values)

    def parser(self) -> argparse.ArgumentParser:
        """One option per setting; values stay text."""
        parser = argparse.ArgumentParser(prog=self.program, allow_abbrev=False)
        for each in self.known().values():
            is_switch = isinstance(each.default, bool)
            described = f"{each.metadata['help']} (default: {self.default_of(each.name)!r})"
            parser.add_argument(
                option_of(each.name),
                dest=each.name,
                metavar="true|false" if is_switch else "VALUE",
                nargs="?" if is_switch else None,
                const="true" if is_switch else None,
                help=described.replace("%", "%%"),
            )
        return parser


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Values by name, of all the classes together."""

    values: Mapping[str, Any]

    def make(self, kind: type[_Settings]) -> _Settings:
        """The settings of one class; raises SettingsError."""
        names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
        return kind(**{name: self.values[name] for name in names if name in self.values})


def _convert(each: "Field[Any]", given: str, *, source: str) -> object:
    if isinstance(each.default, bool):
        lowered = given.strip().lower()
        if lowered not in _TRUE | _FALSE:
            raise SettingsError(f"{source} is {given!r}, it may be true or false")
        return lowered in _TRUE
    if isinstance(each.default, int):
        try:
            value = int(given)
        except ValueError:
            raise SettingsError(f"{source} is {given!r}, it must be a whole number") from None
        _check(each, value, source=source)
        return value
    return given


def _check(each: "Field[Any]", value: object, *, source: str) -> None:
    expected = type(each.default)
    if type(value) is not expected:
        raise SettingsError(f"{source} is {value!r}, it must be of type {expected.__name__}")
    if isinstance(value, int) and "minimum" in each.metadata:
        minimum, maximum = each.metadata["minimum"], each.metadata["maximum"]
        if not minimum <= value <= maximum:
            raise SettingsError(f"{source} is {value}, it may be {minimum} to {maximum}")
