"""Codecs of a batch's payload. The libraries are optional for clients: they are loaded on first use."""

from enum import IntEnum

Buffer = bytes | bytearray | memoryview


class Codec(IntEnum):
    NONE = 0
    ZSTD = 1
    LZ4 = 2


def compress(codec: Codec, data: Buffer) -> bytes:
    """`data` compressed, with its size recorded so that `decompress` can bound it beforehand."""
    if codec is Codec.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(level=3).compress(data)
    if codec is Codec.LZ4:
        import lz4.frame

        return bytes(lz4.frame.compress(data, content_checksum=False, store_size=True))
    return bytes(data)


def decompress(codec: Codec, data: Buffer, *, limit_bytes: int) -> bytes:
    """The original bytes; ValueError when they are damaged or would exceed `limit_bytes`."""
    if codec is Codec.ZSTD:
        return _decompress_zstd(data, limit_bytes)
    if codec is Codec.LZ4:
        return _decompress_lz4(data, limit_bytes)
    return bytes(data)


def unpacked_bytes(codec: Codec, data: Buffer) -> int:
    """What `data` says that it unpacks to, without unpacking it; -1 where it does not say, or is no such data."""
    if codec is Codec.ZSTD:
        import zstandard

        try:
            return zstandard.frame_content_size(data)
        except zstandard.ZstdError:
            return -1
    if codec is Codec.LZ4:
        import lz4.frame

        try:
            return int(lz4.frame.get_frame_info(data)["content_size"]) or -1
        except RuntimeError:
            return -1
    return len(data)


def _decompress_zstd(data: Buffer, limit_bytes: int) -> bytes:
    import zstandard

    if not 0 <= unpacked_bytes(Codec.ZSTD, data) <= limit_bytes:
        raise ValueError(f"the payload unpacks to more than {limit_bytes} bytes, or does not say to how many")
    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=limit_bytes)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _decompress_lz4(data: Buffer, limit_bytes: int) -> bytes:
    import lz4.frame

    decompressor = lz4.frame.LZ4FrameDecompressor()
    try:
        unpacked = bytes(decompressor.decompress(data, max_length=limit_bytes + 1))
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    if len(unpacked) > limit_bytes or not decompressor.eof:
        raise ValueError(f"the payload unpacks to more than {limit_bytes} bytes, or is cut short")
    return unpacked
