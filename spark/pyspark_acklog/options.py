"""The options of a read or a write, parsed and checked on the driver. What they mean: `option_table`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from typing import TypeVar

from acklog.filters import FilterError, MessageFilter, both, filter_by_tags, parse_filter
from acklog.wire.limits import REQUEST_MESSAGES_MAX, TAG_BYTES_MAX
from pyspark_acklog import option_table
from pyspark_acklog.connection import Connection, connection_of
from pyspark_acklog.failures import OptionError
from pyspark_acklog.positions import AtOffsets, Bound, OfGroup, Position, parse_offsets, parse_time

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
BYTES_PER_SECOND_MIN = 64 * KIB
_UNITS = {"": 1, "b": 1, "k": KIB, "kib": KIB, "m": MIB, "mib": MIB, "g": GIB, "gib": GIB, "t": TIB, "tib": TIB}
_SIZE = re.compile(r"([0-9]{1,15})\s*([a-zA-Z]{0,3})")
TOPICS_MAX = 1_000
_Choice = TypeVar("_Choice", bound=Enum)


class BadBodies(Enum):
    """What becomes of a body that does not fit the `schema` option."""

    FAIL = "fail"
    NULL = "null"
    COLUMN = "column"


class ReadFrom(Enum):
    """Which replica answers."""

    LEADER = "leader"
    NEAREST = "nearest"


class WriteIdentity(Enum):
    """What guards a retried task or epoch."""

    DURABLE = "durable"
    WINDOW = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """What a worker needs to read a range."""

    connection: Connection
    fail_on_data_loss: bool = True
    read_from: ReadFrom = ReadFrom.LEADER
    fetch_bytes: int = 4 * MIB
    max_bytes_per_second: int | None = None
    filter_text: str = ""

    @property
    def message_filter(self) -> MessageFilter | None:
        """What is wanted of the log; None for all of it."""
        return parse_filter(self.filter_text) if self.filter_text else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What is read. Either `topics` or `topic_pattern` is given."""

    fetch: FetchOptions
    topics: tuple[str, ...] = ()
    topic_pattern: str = ""
    starting: Position | None = None
    ending: Position = Bound.LATEST
    max_bytes_per_partition: int = 64 * MIB
    archive: str = ""
    body_schema: str = ""
    bad_bodies: BadBodies = BadBodies.FAIL
    max_messages_per_trigger: int | None = None

    @property
    def connection(self) -> Connection:
        return self.fetch.connection


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Where rows are sent. `topic` is "" where a column names it."""

    connection: Connection
    topic: str = ""
    write_id: str = ""
    identity: WriteIdentity = WriteIdentity.DURABLE
    batch_messages: int = 2_000
    batch_bytes: int = field(default=MIB)


def parse_read(given: Mapping[str, str]) -> ReadOptions:
    """Raises OptionError, which names the option and says what is possible."""
    options = option_table.checked(given)
    _refuse(options, option_table.Use.WRITING, "reading")
    topics = tuple(name.strip() for name in options.get("topic", "").split(",") if name.strip())
    pattern = options.get("topicPattern", "")
    if bool(topics) == bool(pattern):
        raise OptionError("topic", "name what to read: give either 'topic' or 'topicPattern'")
    if len(topics) > TOPICS_MAX:
        raise OptionError("topic", f"{len(topics)} topics, at most {TOPICS_MAX}: use topicPattern")
    _check_pattern(pattern)
    body_schema = options.get("schema", "").strip()
    if "badBodies" in options and not body_schema:
        raise OptionError("badBodies", "goes with option 'schema'")
    starting = _position(options, "starting")
    ending = _position(options, "ending") or Bound.LATEST
    for position, name in ((starting, "startingOffsets"), (ending, "endingOffsets")):
        _check_topics_named(position, topics, pattern, name)
    return ReadOptions(
        fetch=FetchOptions(
            connection=_connection(options),
            fail_on_data_loss=_boolean(options, "failOnDataLoss", default=True),
            read_from=_choice(options, "readFrom", ReadFrom, ReadFrom.LEADER),
            fetch_bytes=_size(options, "fetchBytes", 64 * KIB, 16 * MIB, default=4 * MIB),
            max_bytes_per_second=_size(options, "maxBytesPerSecond", BYTES_PER_SECOND_MIN, TIB) or None,
            filter_text=_filter_text(options),
        ),
        topics=tuple(dict.fromkeys(topics)),
        topic_pattern=pattern,
        starting=starting,
        ending=ending,
        max_bytes_per_partition=_size(options, "maxBytesPerPartition", 64 * KIB, TIB, default=64 * MIB),
        archive=_archive(options),
        body_schema=body_schema,
        bad_bodies=_choice(options, "badBodies", BadBodies, BadBodies.FAIL),
        max_messages_per_trigger=_number(options, "maxMessagesPerTrigger", 1, 10**12) or None,
    )


def _filter_text(options: Mapping[str, str]) -> str:
    """What `tags` and `filter` say together, as the servers take it; "" where they say nothing."""
    filters: list[MessageFilter] = []
    tags = [tag.strip() for tag in options.get("tags", "").split(",") if tag.strip()]
    for tag in tags:
        if len(tag.encode()) > TAG_BYTES_MAX:
            raise OptionError("tags", f"{tag[:20]!r}… has more than {TAG_BYTES_MAX} bytes")
    if tags:
        filters.append(filter_by_tags(tags))
    try:
        if options.get("filter", "").strip():
            filters.append(parse_filter(options["filter"]))
        # Once more together: the limits are those of what servers are sent.
        return parse_filter(reduce(both, filters).text).text if filters else ""
    except FilterError as error:
        raise OptionError("filter" if "filter" in options else "tags", str(error)) from None


def _archive(options: dict[str, str]) -> str:
    path = options.get("archive", "").strip()
    if path:
        for name in ("startingTimestamp", "endingTimestamp"):
            if name in options:
                raise OptionError(name, "goes by the servers' logs; with an archive filter by appendTime instead")
    return path


def parse_write(given: Mapping[str, str]) -> WriteOptions:
    """Raises OptionError."""
    options = option_table.checked(given)
    for use in (option_table.Use.READING, option_table.Use.STREAMING):
        _refuse(options, use, "writing", but=("topic",))
    write_id = options.get("writeId", "")
    if write_id and not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", write_id):
        raise OptionError("writeId", "has up to 64 letters, digits, '.', '_' and '-'")
    if "," in options.get("topic", ""):
        raise OptionError("topic", "name one topic, or write a column 'topic'")
    return WriteOptions(
        connection=_connection(options),
        topic=options.get("topic", "").strip(),
        write_id=write_id,
        identity=_choice(options, "writeIdentity", WriteIdentity, WriteIdentity.DURABLE),
        batch_messages=_number(options, "batchMessages", 1, REQUEST_MESSAGES_MAX, default=2_000),
        batch_bytes=_size(options, "batchBytes", KIB, 8 * MIB, default=MIB),
    )


def _connection(options: dict[str, str]) -> Connection:
    return connection_of(options, timeout_s=float(_number(options, "timeoutSeconds", 1, 3600, default=120)))


def _refuse(options: Mapping[str, str], use: option_table.Use, doing: str, but: tuple[str, ...] = ()) -> None:
    for option in option_table.OPTIONS:
        if option.use is use and option.name in options and option.name not in but:
            raise OptionError(option.name, f"is not for {doing}")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise OptionError("topicPattern", f"{pattern!r} is no regular expression: {error}") from None


def _position(options: Mapping[str, str], which: str) -> Position | None:
    names = [f"{which}{kind}" for kind in ("Offsets", "Timestamp", "Group") if options.get(f"{which}{kind}")]
    if len(names) > 1:
        raise OptionError(names[1], f"give either {names[0]} or {names[1]}")
    if not names:
        return None
    [name] = names
    if name.endswith("Offsets"):
        return parse_offsets(name, options[name])
    if name.endswith("Timestamp"):
        return parse_time(name, options[name])
    return OfGroup(options[name].strip())


def _check_topics_named(position: Position | None, topics: tuple[str, ...], pattern: str, name: str) -> None:
    if not isinstance(position, AtOffsets):
        return
    if "" in position.offsets and (len(topics) != 1 or pattern):
        raise OptionError(name, 'name the topics: {"flights": {"0": 17}}, since several are read')
    for topic in position.offsets:
        if topic and not (re.fullmatch(pattern, topic) if pattern else topic in topics):
            raise OptionError(name, f"topic {topic!r} is not among those that are read")


def _boolean(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, "").strip().lower()
    if text not in {"", "true", "false"}:
        raise OptionError(name, f"must be true or false, not {options[name]!r}")
    return default if not text else text == "true"


def _choice(options: Mapping[str, str], name: str, kind: type[_Choice], default: _Choice) -> _Choice:
    text = options.get(name, "").strip().lower()
    if not text:
        return default
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(str(each.value) for each in kind)
        raise OptionError(name, f"{options[name]!r} is not one of {known}") from None


def _number(options: Mapping[str, str], name: str, low: int, high: int, *, default: int = 0) -> int:
    return _bounded(options, name, low, high, default, _plain_number)


def _size(options: Mapping[str, str], name: str, low: int, high: int, *, default: int = 0) -> int:
    """Bytes: a number, with k, m, g or KiB, MiB, GiB behind it."""
    return _bounded(options, name, low, high, default, _size_of)


def _bounded(
    options: Mapping[str, str], name: str, low: int, high: int, default: int, parse: Callable[[str], int | None]
) -> int:
    if not options.get(name, "").strip():
        return default
    number = parse(options[name].strip())
    if number is None or not low <= number <= high:
        raise OptionError(name, f"{options[name]!r} is not a whole number from {low} to {high}")
    return number


def _plain_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None


def _size_of(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[2].lower())
    return None if match is None or unit is None else int(match[1]) * unit
