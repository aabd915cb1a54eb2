"""Every option by name: what it is for, its default and its limits. The docs have this table; a test compares them."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyspark_acklog.failures import OptionError


class Use(Enum):
    """What an option belongs to."""

    CONNECTION = "connection"
    READING = "reading"
    STREAMING = "streaming"
    WRITING = "writing"


@dataclass(frozen=True, slots=True)
class Option:
    """`default` as it stands in the docs; "" is none."""

    name: str
    use: Use
    default: str
    meaning: str


_C, _R, _S, _W = Use.CONNECTION, Use.READING, Use.STREAMING, Use.WRITING
OPTIONS = (
    Option("url", _C, "http://127.0.0.1:8080", "gateways, separated by commas; any of them serves any request"),
    Option("profile", _C, "", "a profile of the `acklog` command: its server and token, read where the driver runs"),
    Option("token", _C, "", "a bearer token; Spark keeps it out of its plans and logs"),
    Option("tokenFile", _C, "", "a file with the token, read where the driver runs"),
    Option("caFile", _C, "", "certificates (PEM) of authorities to trust, read where the driver runs"),
    Option(
        "certificateFile", _C, "", "our certificate (PEM) for servers that ask who calls, read where the driver runs"
    ),
    Option("keyFile", _C, "", "its private key (PEM), read where the driver runs"),
    Option("timeoutSeconds", _C, "120", "how long one request is tried again while servers fail or restart, 1 to 3600"),
    Option("topic", _R, "", "one topic or several, separated by commas; when writing: for rows without the column"),
    Option("topicPattern", _R, "", "a regular expression that whole names of topics match, instead of `topic`"),
    Option(
        "startingOffsets", _R, "earliest", "earliest, latest, or offsets by partition; a stream's default is latest"
    ),
    Option("endingOffsets", _R, "latest", "as startingOffsets, exclusive; batch only"),
    Option("startingTimestamp", _R, "", "begin with what was appended then or later: ms since 1970, or ISO 8601"),
    Option("endingTimestamp", _R, "", "end before what was appended then or later; batch only"),
    Option("startingGroup", _R, "", "begin where this group is: with the first message that it has not done"),
    Option("endingGroup", _R, "", "end where this group is; batch only"),
    Option("tags", _R, "", "only messages with one of these tags, separated by commas; the servers see to it"),
    Option("filter", _R, "", "only messages that match, by tags, key and headers; the servers see to it"),
    Option("schema", _R, "", "columns (DDL) that JSON bodies are parsed into, after the others"),
    Option("badBodies", _R, "fail", "a body that does not fit `schema`: fail, null, or column (its text in `badBody`)"),
    Option("maxBytesPerPartition", _R, "64 MiB", "about how much of a partition one task reads, 64 KiB to 1 TiB"),
    Option("archive", _R, "", "an export of the topics: what it has is read there, the rest from servers; batch only"),
    Option("failOnDataLoss", _R, "true", "whether offsets that retention has removed fail the query, or are skipped"),
    Option("readFrom", _R, "leader", "leader, or nearest: a replica near the gateway may answer"),
    Option("fetchBytes", _R, "4 MiB", "how much one request asks for, 64 KiB to 16 MiB"),
    Option(
        "maxBytesPerSecond",
        _R,
        "",
        "how much one task fetches per second at most, at least 64 KiB; in smaller requests then",
    ),
    Option("maxMessagesPerTrigger", _S, "", "how many messages one micro-batch reads at most"),
    Option("writeId", _W, "", "names a batch write: done again under the same name it adds nothing twice"),
    Option("writeIdentity", _W, "durable", "durable, or window: only the topic's deduplication window guards retries"),
    Option("batchMessages", _W, "2000", "how many messages one request has at most, 1 to 10000"),
    Option("batchBytes", _W, "1 MiB", "how many bytes of bodies one request has at most, 1 KiB to 8 MiB"),
)
# What those who come from Spark's own source for Kafka write, and what it is here.
OF_KAFKA: Mapping[str, str] = {
    "kafka.bootstrap.servers": "give the gateways by option 'url', as http://host:8080",
    "bootstrap.servers": "give the gateways by option 'url', as http://host:8080",
    "subscribe": "name the topics by option 'topic'",
    "subscribepattern": "give the pattern by option 'topicPattern'",
    "assign": "name the topics by option 'topic', and choose partitions by a filter on the column 'partition'",
    "startingoffsetsbytimestamp": "give one time by option 'startingTimestamp'",
    "endingoffsetsbytimestamp": "give one time by option 'endingTimestamp'",
    "maxoffsetspertrigger": "bound a micro-batch by option 'maxMessagesPerTrigger'",
    "minpartitions": "tasks are cut by bytes: option 'maxBytesPerPartition'",
    "kafka.group.id": "a read has no group; begin where one is by option 'startingGroup'",
    "groupidprefix": "a read has no group; begin where one is by option 'startingGroup'",
    "includeheaders": "the column 'headers' is always there",
}
_BY_KEY = {option.name.lower(): option for option in OPTIONS}
# What Spark itself puts among the options of a query.
_OF_SPARK = frozenset({"checkpointlocation", "queryname", "mergeschema", "outputmode"})


def checked(given: Mapping[str, str]) -> dict[str, str]:
    """The options that were given, by their names as they are documented. Raises OptionError for unknown ones, with
    what to write instead of those of Kafka's source."""
    found: dict[str, str] = {}
    for key, value in given.items():
        option = _BY_KEY.get(key.lower())
        if option is not None:
            found[option.name] = str(value)
        elif key.lower() == "path":
            raise OptionError("path", "there is no path; name the topic by option 'topic'")
        elif key.lower() in OF_KAFKA:
            raise OptionError(key, f"is an option of Spark's source for Kafka; {OF_KAFKA[key.lower()]}")
        elif key.lower().startswith("kafka."):
            raise OptionError(key, "is a setting of a Kafka client, and there is none here")
        elif key.lower() not in _OF_SPARK:
            raise OptionError(key, f"there is no such option{_near(key)}")
    return found


def _near(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), _BY_KEY, n=2, cutoff=0.6)
    names = " or ".join(repr(_BY_KEY[each].name) for each in near)
    return f"; did you mean {names}?" if names else f"; there are {', '.join(option.name for option in OPTIONS)}"
