"""The settings of a server process: read in one place, checked once, printed without secrets."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from acklog.wire import limits

ENVIRONMENT_PREFIX = "ACKLOG_"
NODE_PREFIX = "ACKLOG_NODE_"  # the storage node's own, see `app.node_settings`
NODE_PREFIX = "ACKLOG_NODE_"  # read by app.node_settings
_MIB = 1024 * 1024
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class SettingsError(ValueError):
    """A setting is not usable; the text names it, where it came from and what it may be."""


def _number(default: int, minimum: int, maximum: int, text: str) -> Any:
    return field(default=default, metadata={"help": text, "minimum": minimum, "maximum": maximum})


def _text(default: str, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def _switch(default: bool, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting has a default, an environment variable (ACKLOG_PORT) and a command-line option (--port)."""

    host: str = _text("127.0.0.1", "address to listen on")
    port: int = _number(8080, 0, 65_535, "port to listen on; 0 picks a free one")
    data_dir: str = _text("./data", "where the embedded server keeps everything")
    tokens_file: str = _text("", "file of bearer tokens (JSON or TOML); empty: no authentication")
    insecure: bool = _switch(False, "listen on other machines' networks without a tokens file")
    log_level: str = _text("info", "debug, info, warning or error")

    auto_create_topics: bool = _switch(True, "a send to an unknown topic creates it")
    auto_create_groups: bool = _switch(True, "a receive by an unknown group creates it")
    partitions_default: int = _number(
        limits.PARTITIONS_DEFAULT, 1, limits.PARTITIONS_MAX, "partitions of a topic that is created without a number"
    )

    request_timeout_ms: int = _number(10_000, 10, 600_000, "deadline of a request, waiting for messages not counted")
    body_timeout_ms: int = _number(30_000, 10, 600_000, "how long a request body may take to arrive")
    header_timeout_ms: int = _number(10_000, 10, 600_000, "how long a request's headers may take to arrive")
    write_timeout_ms: int = _number(60_000, 10, 600_000, "how long a client may take to read an answer")
    keep_alive_ms: int = _number(75_000, 1000, 3_600_000, "how long an idle connection is kept open")
    header_bytes_max: int = _number(32 * 1024, 1024, _MIB, "bytes of all headers of one request")
    url_bytes_max: int = _number(16 * 1024, 256, _MIB, "bytes of a request's path and query")
    pipelined_requests_max: int = _number(64, 1, 10_000, "requests that one connection may have queued")
    connections_max: int = _number(20_000, 1, 1_000_000, "open connections; further ones are closed")

    request_bytes_in_flight_max: int = _number(
        256 * _MIB, limits.REQUEST_BODY_BYTES_MAX, 1 << 40, "bytes of all request bodies being handled"
    )
    waiting_requests_max: int = _number(10_000, 1, 1_000_000, "requests that wait for messages at a time")
    coalesced_messages_max: int = _number(2_000, 1, limits.REQUEST_MESSAGES_MAX, "single messages in a shared batch")
    coalesced_bytes_max: int = _number(
        4 * _MIB, limits.MESSAGE_BODY_BYTES_MAX, limits.REQUEST_BODY_BYTES_MAX, "bytes of a shared batch"
    )
    sticky_bytes: int = _number(
        16 * 1024, 1, limits.REQUEST_BODY_BYTES_MAX, "bytes without a key that stay on one partition in a row"
    )
    sticky_topics_max: int = _number(10_000, 1, 1_000_000, "topics whose balance of keyless messages is remembered")
    send_rounds_max: int = _number(4, 1, 100, "times a keyed batch is sent again without the messages known already")
    metric_names_max: int = _number(100, 1, 10_000, "topics and groups with metrics of their own; the rest is 'other'")

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each, getattr(self, each.name), source=each.name)
        if self.log_level not in {"debug", "info", "warning", "error"}:
            raise SettingsError(f"log_level is {self.log_level!r}, it may be debug, info, warning or error")
        if not self.data_dir.strip():
            raise SettingsError("data_dir is empty, it must name a directory (--data-dir, ACKLOG_DATA_DIR)")

    @classmethod
    def load(cls, environment: Mapping[str, str], arguments: Sequence[str] = ()) -> "Settings":
        """From the environment, overridden by command-line options. Raises SettingsError."""
        known = {each.name: each for each in fields(cls)}
        values: dict[str, Any] = {}
        for variable in sorted(environment):
            if not variable.startswith(ENVIRONMENT_PREFIX) or variable.startswith(NODE_PREFIX):
                continue
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            if name not in known:
                raise SettingsError(f"{variable} is no setting of Acklog")
            values[name] = _convert(known[name], environment[variable], source=variable)
        options = vars(option_parser().parse_args(list(arguments)))
        for name, text in options.items():
            if text is not None:
                values[name] = _convert(known[name], text, source=option_of(name))
        return cls(**values)

    def describe(self) -> dict[str, object]:
        """What may be printed at the start: no setting holds a secret itself, only files that do are named."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def option_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def option_parser(program: str = "acklog serve") -> argparse.ArgumentParser:
    """One option per setting. Values stay text: `Settings.load` converts and checks both sources alike."""
    parser = argparse.ArgumentParser(prog=program, allow_abbrev=False)
    for each in fields(Settings):
        parser.add_argument(
            option_of(each.name),
            dest=each.name,
            metavar="true|false" if isinstance(each.default, bool) else "VALUE",
            nargs="?" if isinstance(each.default, bool) else None,
            const="true" if isinstance(each.default, bool) else None,
            help=f"{each.metadata['help']} (default: {each.default!r})".replace("%", "%%"),
        )
    return parser


def _convert(each: "Field[Any]", text: str, *, source: str) -> object:
    if isinstance(each.default, bool):
        lowered = text.strip().lower()
        if lowered not in _TRUE | _FALSE:
            raise SettingsError(f"{source} is {text!r}, it may be true or false")
        return lowered in _TRUE
    if isinstance(each.default, int):
        try:
            value = int(text)
        except ValueError:
            raise SettingsError(f"{source} is {text!r}, it must be a whole number") from None
        _check(each, value, source=source)
        return value
    return text


def _check(each: "Field[Any]", value: object, *, source: str) -> None:
    expected = type(each.default)
    if type(value) is not expected:
        raise SettingsError(f"{source} is {value!r}, it must be of type {expected.__name__}")
    if isinstance(value, int) and "minimum" in each.metadata:
        minimum, maximum = each.metadata["minimum"], each.metadata["maximum"]
        if not minimum <= value <= maximum:
            raise SettingsError(f"{source} is {value}, it may be {minimum} to {maximum}")
