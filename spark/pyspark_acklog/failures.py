"""What can go wrong, said in one line each."""

import re

from acklog.errors import AcklogError, CannotConnect, ConnectionFailed

LINE_LENGTH_MAX = 1_000
_OWN = re.compile(r"^(?:.*\.)?(?P<kind>[A-Z][A-Za-z]+): acklog: (?P<line>.+)$", re.MULTILINE)
_JAVA_MISSING = ("JAVA_GATEWAY_EXITED", "JAVA_HOME is not set", "No such file or directory: 'java'")
_JAVA_OLD = ("UnsupportedClassVersionError",)
_PREFIX = "acklog: "
JAVA_HINT = (
    "Spark needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
)


class SparkSourceError(Exception):
    """A failure of the data source. Its text is one line that says what to do; it survives Spark's own wrapping, since
    `one_line` finds it in there by how it begins."""

    def __init__(self, line: str) -> None:
        super().__init__(line if line.startswith(_PREFIX) else _PREFIX + line)

    @property
    def line(self) -> str:
        return str(self).removeprefix(_PREFIX)


class OptionError(SparkSourceError, ValueError):
    """An option is unknown, or has a value that cannot be right."""

    def __init__(self, option: str, why: str) -> None:
        super().__init__(f"option {option!r}: {why}" if option else why)
        self.option = option

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), str(self))


class DataLossError(SparkSourceError):
    """Offsets that were to be read are not there any more."""


class TopicChangedError(SparkSourceError):
    """The topic was deleted and made anew (another id), or has fewer partitions than before."""


class BadBodyError(SparkSourceError):
    """A body does not fit the `schema` option."""


class ServerAwayError(SparkSourceError):
    """No server could be reached."""


class WriteError(SparkSourceError):
    """Rows cannot be written."""


def _restored(kind: type[SparkSourceError], line: str) -> SparkSourceError:
    error = kind.__new__(kind)
    Exception.__init__(error, line)
    return error


def of_server(error: AcklogError, urls: tuple[str, ...], doing: str) -> SparkSourceError:
    """A failure of the server, or of the way to it, as one line."""
    where = ", ".join(urls)
    if isinstance(error, CannotConnect):
        return ServerAwayError(f"{doing}: no server can be reached at {where}: is it running, and is that its address?")
    if isinstance(error, ConnectionFailed):
        return SparkSourceError(f"{doing}: the connection to {where} failed: {error.detail}")
    return SparkSourceError(f"{doing}: {error.detail} ({error.code})")


def one_line(error: BaseException) -> str:
    """What went wrong, in one line, whatever Spark, Py4J and a worker's traceback have wrapped around it."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain and len(chain) < 16:
        chain.append(seen)
        seen = seen.__cause__ or seen.__context__
    for each in chain:
        if isinstance(each, SparkSourceError):
            return each.line
        if isinstance(each, AcklogError):
            return str(each)
    text = "\n".join(str(each) for each in chain)
    # The last one is the innermost: what a worker's traceback ends with.
    own = [match["line"].strip() for match in _OWN.finditer(text)]
    if own:
        return _shortened(own[-1])
    if any(mark in text for mark in _JAVA_OLD):
        return f"the Java that was found is too old. {JAVA_HINT}"
    if any(mark in text for mark in _JAVA_MISSING):
        return f"Java was not found. {JAVA_HINT}"
    return _shortened(_first_telling_line(text) or type(error).__name__)


def _first_telling_line(text: str) -> str:
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith(("Traceback", "File ", "at ", "JVM stacktrace", "Py4J")):
            return stripped
    return ""


def _shortened(line: str) -> str:
    return line if len(line) <= LINE_LENGTH_MAX else line[: LINE_LENGTH_MAX - 1] + "…"
