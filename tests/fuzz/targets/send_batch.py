"""A batch in JSON, read in pieces against read in one."""

from acklog.wire.problems import ProblemCode
from app.http.parsing.large_send import large_envelope_steps
from app.http.parsing.query import NO_ARGUMENTS
from app.http.parsing.send import send_steps
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.send_outcome import REFUSED, outcome_of
from tests.fuzz.send_seeds import batches, singles


def _read(data: bytes) -> None:
    """Of two lists of messages the last one counts, as with any name that JSON has twice; in pieces the second one is
    refused."""
    in_one = outcome_of(send_steps(data, content_type="application/json", query_string=b""))
    in_pieces = outcome_of(large_envelope_steps(data, NO_ARGUMENTS))
    has_two_lists = in_pieces is REFUSED and (data.count(b'"messages"') > 1 or b"\\u" in data)
    assert in_pieces == in_one or has_two_lists
    if in_one is REFUSED or isinstance(in_one, ProblemCode):
        raise ServerError(ProblemCode.INVALID_JSON, "both ways refuse it")


TARGET = FuzzTarget(_read, (ServerError,), lambda: batches() + singles())
