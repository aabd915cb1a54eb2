"""Frames on a connection to a storage node, from a gateway or another node. Sans-IO: bytes in, frames out, and back.

    offset size field
    0      1    magic 0xAC
    1      1    version of this layout, which does not change with the protocol's (`storage.rpc.handshake`)
    2      1    kind: request, response, failure, cancel, cancelled
    3      1    method of a request or a cancel; 0 in answers
    4      4    request id, chosen by the caller, unique among its unanswered ones
    8      4    body length
    12     4    attachment length
    16          body, msgpack
    ...         attachment, as it is: a batch is checksummed by its maker and never re-encoded

All integers are big-endian. Every request is answered by exactly one response, failure or cancelled, in any order.
Whatever breaks these rules makes the connection worthless: nothing behind the fault can be trusted.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

from acklog.wire.limits import BATCH_BYTES_MAX

Buffer = bytes | bytearray | memoryview

MAGIC = 0xAC
VERSION = 1
HEADER_BYTES = 16
HELLO_FRAME_BYTES_MAX = 4096
"""What a stranger may send before it has introduced itself."""
FRAME_BYTES_MAX = BATCH_BYTES_MAX + 4 * 1024 * 1024
"""One batch, or one receive's messages, and what describes them: in a fetch's answer up to 20,000 partitions."""
REQUEST_ID_MAX = 2**32 - 1

_HEADER = struct.Struct(">BBBBIII")
_NOTHING = memoryview(b"")


class FrameKind(IntEnum):
    REQUEST = 1
    RESPONSE = 2
    FAILURE = 3
    CANCEL = 4
    CANCELLED = 5


class FrameTooLargeError(ValueError):
    """A frame to be sent exceeds FRAME_BYTES_MAX."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`body` and `attachment` are views of received bytes that nobody writes to."""

    kind: FrameKind
    method: int
    request_id: int
    body: memoryview = _NOTHING
    attachment: memoryview = _NOTHING

    @property
    def size_bytes(self) -> int:
        return HEADER_BYTES + len(self.body) + len(self.attachment)


def encode_frame(
    kind: FrameKind, *, request_id: int, method: int = 0, body: Buffer = b"", attachment: Buffer = b""
) -> list[Buffer]:
    """The frame as buffers to be written one behind the other; a large attachment is not copied.

    Raises FrameTooLargeError.
    """
    size_bytes = HEADER_BYTES + len(body) + len(attachment)
    if size_bytes > FRAME_BYTES_MAX:
        raise FrameTooLargeError(f"a frame of {size_bytes} bytes exceeds the limit of {FRAME_BYTES_MAX}")
    header = _HEADER.pack(MAGIC, VERSION, kind, method, request_id, len(body), len(attachment))
    if not attachment:
        return [header + body]
    return [header + body, attachment]


class FrameDecoder:
    """Turns the bytes of one direction of a connection into frames, however they were cut.

    After a fault (`fault` says which) nothing more is decoded; frames before it are still returned.
    """

    def __init__(self, *, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._head = bytearray()  # an incomplete header
        self._frame: bytearray | None = None  # what there is of an incomplete frame: no memory is taken on a promise
        self._length = 0  # of the whole of it
        self.fault: str | None = None

    @property
    def buffered_bytes(self) -> int:
        """What was received of an incomplete frame."""
        return len(self._head) if self._frame is None else len(self._frame)

    def allow(self, frame_bytes_max: int) -> None:
        """From the next frame on."""
        self._frame_bytes_max = frame_bytes_max

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        frames: list[Frame] = []
        view = memoryview(data)
        at = 0
        while self.fault is None and at < len(view):
            if self._frame is not None:
                at = self._fill(view, at, frames)
            elif self._head or len(view) - at < HEADER_BYTES:
                at = self._fill_head(view, at, frames)
            else:
                at = self._read_frame(view, at, frames)
        return frames

    def _read_frame(self, view: memoryview, at: int, frames: list[Frame]) -> int:
        """A frame whose header is whole: taken from `view` without copying when all of it is there."""
        length = self._frame_length(view[at : at + HEADER_BYTES])
        if length is None:
            return len(view)
        if len(view) - at >= length:
            frames.append(_split(view[at : at + length]))
            return at + length
        self._frame = bytearray()
        self._length = length
        return self._fill(view, at, frames)

    def _fill_head(self, view: memoryview, at: int, frames: list[Frame]) -> int:
        taken = min(HEADER_BYTES - len(self._head), len(view) - at)
        self._head += view[at : at + taken]
        fault = _prefix_fault(self._head)
        if fault is not None:
            self._fail(fault)
        elif len(self._head) == HEADER_BYTES:
            length = self._frame_length(self._head)
            if length is not None:
                self._frame = self._head
                self._length = length
                self._head = bytearray()
                self._complete(frames)
        return at + taken

    def _fill(self, view: memoryview, at: int, frames: list[Frame]) -> int:
        assert self._frame is not None
        taken = min(self._length - len(self._frame), len(view) - at)
        self._frame += view[at : at + taken]
        self._complete(frames)
        return at + taken

    def _complete(self, frames: list[Frame]) -> None:
        if self._frame is not None and len(self._frame) == self._length:
            frames.append(_split(memoryview(self._frame).toreadonly()))
            self._frame = None

    def _frame_length(self, header: Buffer) -> int | None:
        """The whole frame's length; None (and a fault) for a header that no peer of ours writes."""
        fault = _prefix_fault(header)
        if fault is not None:
            self._fail(fault)
            return None
        *_, body_length, attachment_length = _HEADER.unpack(header)
        length: int = HEADER_BYTES + body_length + attachment_length
        if length > self._frame_bytes_max:
            self._fail(f"a frame of {length} bytes exceeds the limit of {self._frame_bytes_max}")
            return None
        return length

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self._head.clear()
        self._frame = None


_KINDS = frozenset(int(kind) for kind in FrameKind)


def _prefix_fault(header: Buffer) -> str | None:
    """What is wrong with the beginning of a header, as far as it is there: garbage is refused at its first byte."""
    if header[0] != MAGIC:
        return f"a frame begins with byte 0x{header[0]:02x}, not 0x{MAGIC:02x}: the peer speaks another protocol"
    if len(header) > 1 and header[1] != VERSION:
        return f"the peer speaks version {header[1]} of the protocol, this is version {VERSION}"
    if len(header) > 2 and header[2] not in _KINDS:
        return f"a frame has the unknown kind {header[2]}"
    return None


def _split(frame: memoryview) -> Frame:
    _, _, kind, method, request_id, body_length, _ = _HEADER.unpack_from(frame)
    body_end = HEADER_BYTES + body_length
    return Frame(FrameKind(kind), method, request_id, frame[HEADER_BYTES:body_end], frame[body_end:])
