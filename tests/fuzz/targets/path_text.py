"""Parts of paths that may be any text."""

from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from app.http.parsing.cluster import node_number
from app.http.parsing.path_text import path_text
from app.http.parsing.records import partition_number
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget

_SEEDS = (b"orders", b"a%2Fb", b"%E2%82%AC", b"%FF", b"%EF%BF%BD", b"\xef\xbf\xbd", b"%zz%", b"+", b"7", b"0007")


def _read(data: bytes) -> None:
    raw = unquote_to_bytes(data)
    shown = raw.decode("utf-8", "replace")  # as servers do it
    request = Request({"type": "http", "path_params": {"key": shown}, "raw_path": data, "headers": []})
    text = path_text(request, "key")
    assert text.encode() == raw, "another key than the client meant"
    for number_of in (partition_number, node_number):
        try:
            assert str(number_of(text)) == text.lstrip("0") or int(text) == 0
        except ServerError as error:
            assert error.field in {"partition", "node"}


TARGET = FuzzTarget(_read, (ServerError,), lambda: _SEEDS)
