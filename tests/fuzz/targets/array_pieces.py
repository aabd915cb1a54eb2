"""A long JSON array that is cut between its elements."""

import msgspec

from app.http.parsing.array_pieces import ArrayPieces
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.send_seeds import batches

_WINDOW_BYTES_MIN = 2
_raws = msgspec.json.Decoder(list[msgspec.Raw])


def _seeds() -> list[bytes]:
    arrays = [each[each.index(b"[") :] for each in batches()]
    return [*(bytes([window]) + array for window, array in enumerate(arrays)), b'\x05["\\\\\\"",["]"],{"a":"["}], 1']


def _read(data: bytes) -> None:
    """What follows the array is somebody else's."""
    window_bytes, text = _WINDOW_BYTES_MIN + (data[0] if data else 0), data[1:]
    if not text.startswith(b"["):
        text = b"[" + text
    pieces = ArrayPieces(text, 1, window_bytes=window_bytes)
    found = [text[piece.start : piece.end] for piece in pieces if piece is not None]
    array = text[: pieces.end + 1]
    try:
        whole = [bytes(each) for each in _raws.decode(array)]
    except (msgspec.DecodeError, RecursionError):
        is_closed = array.endswith(b"]")  # of another end whoever reads what is around the array hears
        assert not is_closed or not _all_are_arrays(found), "pieces that are right make up an array that is wrong"
        return
    assert [element for piece in found for element in _elements(piece)] == whole


def _all_are_arrays(pieces: list[bytes]) -> bool:
    """As whoever reads the pieces has it: only all there is may be blank."""
    if any(not piece.strip() for piece in pieces) and len(pieces) > 1:
        return False
    try:
        for piece in pieces:
            _raws.decode(b"[%b]" % piece)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _elements(piece: bytes) -> list[bytes]:
    return [bytes(each) for each in _raws.decode(b"[%b]" % piece)]


TARGET = FuzzTarget(_read, (ServerError,), _seeds)
