"""Frames between gateways and nodes, however their bytes are cut."""

from acklog.wire.limits import KEY_BYTES_MAX
from storage.rpc.framing import FrameDecoder, FrameKind, encode_frame
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import cut_up

_FRAME_BYTES_MAX = KEY_BYTES_MAX
Plain = tuple[FrameKind, int, int, bytes, bytes]


class FramingFaultError(ValueError):
    """The decoder found a fault, and says which."""


def _seeds() -> list[bytes]:
    frames = [
        encode_frame(FrameKind.REQUEST, method=255, request_id=1, body=b"\x93\x01\x08\xc3"),
        encode_frame(FrameKind.RESPONSE, request_id=2**32 - 1, body=b"body", attachment=b"attachment" * 9),
        encode_frame(FrameKind.CANCEL, method=2, request_id=7),
    ]
    whole = [b"".join(frame) for frame in frames]
    return [
        b"\x00" + b"".join(whole),
        *(bytes([seed]) + frame for seed, frame in enumerate(whole)),
        b"\x01GET / HTTP/1.1",
    ]


def _decoded(pieces: list[bytes]) -> tuple[list[Plain], str | None, int]:
    decoder = FrameDecoder(frame_bytes_max=_FRAME_BYTES_MAX)
    found: list[Plain] = []
    for piece in pieces:
        for frame in decoder.feed(piece):
            found.append((frame.kind, frame.method, frame.request_id, bytes(frame.body), bytes(frame.attachment)))
            assert frame.size_bytes <= _FRAME_BYTES_MAX
        assert decoder.buffered_bytes <= _FRAME_BYTES_MAX
    return found, decoder.fault, decoder.buffered_bytes


def _read(data: bytes) -> None:
    seed, stream = data[0] if data else 0, data[1:]
    frames, fault, buffered = _decoded([stream])
    assert _decoded(cut_up(stream, seed)) == (frames, fault, buffered)
    again = b"".join(
        b"".join(encode_frame(kind, method=method, request_id=number, body=body, attachment=attachment))
        for kind, method, number, body, attachment in frames
    )
    assert stream.startswith(again), "other bytes than were sent"
    if fault is not None:
        raise FramingFaultError(fault)
    assert len(again) + buffered == len(stream)


TARGET = FuzzTarget(_read, (FramingFaultError,), _seeds)
