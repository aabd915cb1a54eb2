"""Settings that are fields of dataclasses: each has a default, a name in the configuration file, a variable of the
environment and an option, and says what it is for and what it may be. All sources are checked alike."""

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from app.configuration.configuration_file import FILE_NAME, ConfigurationFile
from app.configuration.environment_variables import is_foreign
from app.configuration.setting_error import SettingsError

_Settings = TypeVar("_Settings")

ENVIRONMENT_PREFIX = "ACKLOG_"
_SHOWN_CHARACTERS = 200  # of what somebody has set, in an error
CONFIGURATION_OPTION, CONFIGURATION_VARIABLE = "--config", "ACKLOG_CONFIG"
NODE_PREFIX = "ACKLOG_NODE_"  # the storage node's own, see `app.configuration.node_settings`
_TYPES = {bool: "true or false", int: "a whole number", str: "a text"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def number(default: int, minimum: int, maximum: int, text: str) -> Any:
    return field(default=default, metadata={"help": text, "minimum": minimum, "maximum": maximum})


def text(default: str, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def texts(default: str, text: str) -> Any:
    """Several texts, separated by commas; in the file they may be a list."""
    return field(default=default, metadata={"help": text, "may_be_list": True})


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
    `defaults` of its own for some. `groups` of them, by title, are shown together."""

    program: str
    kinds: Sequence[type[Any]]
    groups: Mapping[str, Sequence[str]]
    without: Collection[str] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """That of the configuration file."""
        return self.program.rpartition(" ")[2]

    def known(self) -> "dict[str, Field[Any]]":
        return {each.name: each for kind in self.kinds for each in fields(kind) if each.name not in self.without}

    def variables(self) -> list[str]:
        """The environment variables that are settings of the command."""
        return [variable_of(name) for name in self.known()]

    def default_of(self, name: str) -> object:
        return self.defaults.get(name, self.known()[name].default)

    def load(
        self, environment: Mapping[str, str], arguments: Sequence[str] = (), file: ConfigurationFile | None = None
    ) -> "LoadedSettings":
        """From the file, overridden by the environment, overridden by command-line options. Raises SettingsError.
        Variables that are no setting are passed over; `app.configuration.environment_variables` says which they are."""
        known = self.known()
        loaded = LoadedSettings(dict(self.defaults), {})
        if file is not None:
            for name, (value, source) in file.values(self.table, known).items():
                loaded.put(name, _checked(known[name], value, source=source), source)
        for name, each in known.items():
            variable = variable_of(name)
            if variable in environment and not is_foreign(variable, environment[variable]):
                loaded.put(name, _convert(each, environment[variable], source=variable), variable)
        options = vars(self.parser().parse_args(list(arguments)))
        for name, given in options.items():
            if given is not None and name in known:
                loaded.put(name, _convert(known[name], given, source=option_of(name)), option_of(name))
        return loaded

    def parser(self) -> argparse.ArgumentParser:
        """One option per setting, and that of the configuration file; values stay text."""
        parser = argparse.ArgumentParser(
            prog=self.program,
            usage="%(prog)s [OPTIONS]",
            description=f"Each option is a setting in {FILE_NAME}, too, and a variable: --log-level, log_level, "
            "ACKLOG_LOG_LEVEL. The option wins over the variable, and that over the file.",
            allow_abbrev=False,
            add_help=False,
        )
        known = self.known()
        for title, names in self.groups.items():
            group = parser.add_argument_group(title)
            for name in names:
                if name in known:
                    self._add_option(group, known[name])
        common = parser.add_argument_group("This command")
        common.add_argument(
            CONFIGURATION_OPTION,
            metavar="FILE",
            help=f"the configuration file; without it {FILE_NAME} in the working directory, where there is one",
        )
        common.add_argument("-h", "--help", action="help", help="show this message and exit")
        return parser

    def _add_option(self, group: Any, each: "Field[Any]") -> None:
        is_switch = isinstance(each.default, bool)
        default = self.default_of(each.name)
        shown = "" if default == "" else f" (default: {str(default).lower() if is_switch else default})"
        group.add_argument(
            option_of(each.name),
            dest=each.name,
            metavar="true|false" if is_switch else "VALUE",
            nargs="?" if is_switch else None,
            const="true" if is_switch else None,
            help=(each.metadata["help"] + shown).replace("%", "%%"),
        )


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Values by name, of all the classes together, and `told_by`: who said each. What nobody said is the default."""

    values: dict[str, Any]
    told_by: dict[str, str]

    def put(self, name: str, value: object, source: str) -> None:
        self.values[name] = value
        self.told_by[name] = source

    def make(self, kind: type[_Settings]) -> _Settings:
        """The settings of one class; raises SettingsError."""
        names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
        return kind(**{name: self.values[name] for name in names if name in self.values})


def _checked(each: "Field[Any]", given: object, *, source: str) -> object:
    """What a file says, in types of its own; several names may be a list there."""
    if "may_be_list" in each.metadata and isinstance(given, list) and all(isinstance(name, str) for name in given):
        given = ",".join(given)
    _check(each, given, source=source)
    return given


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
    _check(each, given, source=source)
    return given


def _check(each: "Field[Any]", value: object, *, source: str) -> None:
    expected = type(each.default)
    if type(value) is not expected:
        raise SettingsError(f"{source} is {_shown(value)}, it must be {_TYPES[expected]}")
    if isinstance(value, str) and _CONTROL.search(value) is not None:
        # No file and no host is called so: the system would refuse it later, without the name of the setting.
        raise SettingsError(
            f"{source} is {value[:_SHOWN_CHARACTERS]!r}, it may have no line ends and no other control characters"
        )
    if isinstance(value, int) and "minimum" in each.metadata:
        minimum, maximum = each.metadata["minimum"], each.metadata["maximum"]
        if not minimum <= value <= maximum:
            raise SettingsError(f"{source} is {_shown(value)}, it may be {minimum} to {maximum}")


def _shown(value: object) -> str:
    try:
        return repr(value)[:_SHOWN_CHARACTERS]
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of too many digits"
