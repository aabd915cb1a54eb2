"""One call of the API, without I/O: the request, and how to read the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec

from acklog.errors import AcklogError, InvalidArgument, UnexpectedAnswer, error_class
from acklog.stored_body import StoredBody

Result = TypeVar("Result")
JSON = {"Content-Type": "application/json"}
PROBLEM_TYPE = "application/problem+json"
Bodies = Sequence[tuple[str, StoredBody]]
"""Topic by topic, what has a body."""
_EXCERPT_LENGTH = 200
_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is the path and the query, encoded."""

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """`headers` has its names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """`read` makes the result from an answer, or raises its problem.

    `is_repeatable`: doing it twice is as good as once, so it may be tried again when nobody knows whether it took
    effect. `wait_s` is how long the server may take beyond the client's own deadline, for long polls. `bodies` finds
    the messages of a result.
    """

    request: Request
    read: Callable[[Response], Result]
    is_repeatable: bool = True
    wait_s: float = 0.0
    bodies: Callable[[Result], Bodies] = field(default=lambda _: ())


def target(path: str, query: Sequence[tuple[str, object | None]] = ()) -> str:
    """`path` with the query's pairs that have a value."""
    pairs = [f"{name}={quote(_text(value), safe='')}" for name, value in query if value is not None]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def segment(name: str) -> str:
    """A name as one part of a path. Raises InvalidArgument for one that would make it another path."""
    if name in {"", ".", ".."}:
        raise InvalidArgument(f"{name!r} is no name")
    return quote(name, safe="")


def encode_document(document: object) -> bytes:
    """As JSON. Raises InvalidArgument for what JSON cannot hold."""
    try:
        return _encode(document)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"cannot be JSON: {error}") from error


def read_as(kind: type[Result]) -> Callable[[Response], Result]:
    """Reads a successful answer's JSON as a `kind`."""
    decoder = msgspec.json.Decoder(kind)

    def read(response: Response) -> Result:
        raise_for_problem(response)
        return decode_answer(decoder, response)

    return read


def read_nothing(response: Response) -> None:
    raise_for_problem(response)


def decode_answer(decoder: "msgspec.json.Decoder[Result]", response: Response) -> Result:
    """Raises UnexpectedAnswer."""
    try:
        return decoder.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unexpected(response, str(error)) from error


def raise_for_problem(response: Response) -> None:
    """Raises the problem that the answer stands for, if it does."""
    problem = problem_of(response)
    if problem is not None:
        raise problem


def problem_of(response: Response) -> AcklogError | None:
    """The error that the answer stands for; None for a success."""
    if 200 <= response.status < 300:
        return None
    if not response.headers.get("content-type", "").startswith(PROBLEM_TYPE):
        return _unexpected(response, "it is no problem document")
    try:
        document = _decode(response.body)
        return _problem(document, response)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
        return _unexpected(response, str(error))


def item_error(item: Mapping[str, object]) -> AcklogError:
    """The error of one message or receipt of many."""
    place = item.get("field")
    code = str(item["code"])
    return error_class(code)(
        str(item["detail"]), code=code, field=str(place) if place else None, retriable=bool(item["retriable"])
    )


def _problem(document: dict[str, object], response: Response) -> AcklogError:
    code = str(document["code"])
    place = document.get("field")
    known = {"type", "title", "status", "detail", "code", "retriable", "field"}
    return error_class(code)(
        str(document["detail"]),
        code=code,
        field=str(place) if place else None,
        status=response.status,
        retriable=bool(document["retriable"]),
        retry_after_s=retry_after_s(response),
        extra={name: value for name, value in document.items() if name not in known},
    )


def retry_after_s(response: Response) -> float | None:
    """What the Retry-After header says, where it is a number of seconds."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _unexpected(response: Response, why: str) -> UnexpectedAnswer:
    excerpt = response.body[:_EXCERPT_LENGTH].decode("utf-8", "replace").strip()
    location = response.headers.get("location")
    hint = f"; it redirects to {location}: is that the URL to use?" if location else ""
    return UnexpectedAnswer(
        f"the answer with status {response.status} is not Acklog's ({why}): {excerpt!r}{hint}",
        status=response.status,
        retriable=response.status in {408, 429, 502, 503, 504},
        retry_after_s=retry_after_s(response),
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
