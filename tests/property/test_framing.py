"""However the byte stream is cut, the same frames come out, and the same fault."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.rpc.framing import HEADER_BYTES, FrameDecoder, FrameKind, encode_frame

Plain = tuple[int, int, int, bytes, bytes]

frames = st.lists(
    st.tuples(
        st.sampled_from(list(FrameKind)),
        st.integers(0, 255),
        st.integers(0, 2**32 - 1),
        st.binary(max_size=60),
        st.binary(max_size=60),
    ),
    max_size=6,
)


def _stream(plain: list[Plain]) -> bytes:
    return b"".join(
        b"".join(encode_frame(FrameKind(kind), method=method, request_id=request_id, body=body, attachment=attachment))
        for kind, method, request_id, body, attachment in plain
    )


def _decode(stream: bytes, cuts: list[int], *, frame_bytes_max: int) -> tuple[list[Plain], str | None, int]:
    decoder = FrameDecoder(frame_bytes_max=frame_bytes_max)
    decoded: list[Plain] = []
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        decoded.extend(
            (frame.kind, frame.method, frame.request_id, bytes(frame.body), bytes(frame.attachment))
            for frame in decoder.feed(stream[start:end])
        )
    return decoded, decoder.fault, decoder.buffered_bytes


@given(frames, st.lists(st.integers(0, 2000), max_size=40))
def test_any_cut_gives_the_frames_that_were_sent(plain: list[Plain], cuts: list[int]) -> None:
    assert _decode(_stream(plain), cuts, frame_bytes_max=1000) == (plain, None, 0)


@given(frames, st.binary(min_size=1, max_size=60), st.lists(st.integers(0, 2000), max_size=40), st.integers(16, 100))
@settings(max_examples=300)
def test_any_cut_gives_the_same_frames_and_the_same_fault_for_garbage(
    plain: list[Plain], garbage: bytes, cuts: list[int], frame_bytes_max: int
) -> None:
    stream = _stream(plain) + garbage
    whole = _decode(stream, [], frame_bytes_max=frame_bytes_max)
    assert _decode(stream, cuts, frame_bytes_max=frame_bytes_max) == whole
    assert _decode(stream, list(range(len(stream))), frame_bytes_max=frame_bytes_max) == whole
    if garbage[0] != 0xAC and all(HEADER_BYTES + len(f[3]) + len(f[4]) <= frame_bytes_max for f in plain):
        assert whole[0] == plain
        assert whole[1] is not None


@given(frames.filter(bool), st.data())
def test_a_cut_short_stream_gives_the_whole_frames_and_no_fault(plain: list[Plain], data: st.DataObject) -> None:
    stream = _stream(plain)
    length = data.draw(st.integers(0, len(stream) - 1))
    decoded, fault, buffered = _decode(stream[:length], [], frame_bytes_max=1000)
    assert decoded == plain[: len(decoded)]
    assert fault is None
    assert len(_stream(decoded)) + buffered == length
