"""Which content type an answer gets: `Accept`."""

from app.http.parsing.accept import chosen_type
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import text_of

_OFFERED = ("application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream")
_SEEDS = (
    b"*/*",
    b"application/json",
    b"text/html;q=0, */*;q=0.1",
    b"application/*;q=0.5, application/x-ndjson",
    b"application/vnd.apache.arrow.stream; version=1; q=1.000,application/json;q=0.001",
    b"image/png",
)


def _read(data: bytes) -> None:
    assert chosen_type(text_of(data), _OFFERED) in _OFFERED


TARGET = FuzzTarget(_read, (ServerError,), lambda: _SEEDS)
