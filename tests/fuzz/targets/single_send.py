"""A single message by the short parser, against that of all sends."""

from app.http.parsing.send import parse_send
from app.http.parsing.single import parse_single
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.send_outcome import content_of
from tests.fuzz.send_seeds import batches, singles


def _read(data: bytes) -> None:
    short = parse_single(data)
    try:
        ordinary = parse_send(data, content_type="application/json", query_string=b"")
    except ServerError:
        assert short is None, "the short way took what the ordinary one refuses"
        raise
    if short is not None:
        assert content_of(short) == content_of(ordinary)
        return
    is_plain = not ordinary.is_batch and ordinary.acks == ACKS_ALL and b"acks" not in data and b"\\u" not in data
    has_dedup_id = b"dedupId" in data
    assert not is_plain or has_dedup_id, "the short way left what it is for"


TARGET = FuzzTarget(_read, (ServerError,), lambda: singles() + batches())
