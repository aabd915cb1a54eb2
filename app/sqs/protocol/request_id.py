"""Ids of requests, for whoever asks what became of one: they stand in every answer."""

from cluster.ports.entropy import Entropy

_VERSION, _VARIANT = 4, 0b10


def new_request_id(entropy: Entropy) -> str:
    """A random UUID."""
    high, low = entropy.bits64(), entropy.bits64()
    high = (high & ~(0xF << 12)) | _VERSION << 12
    low = (low & ~(0b11 << 62)) | _VARIANT << 62
    digits = f"{high:016x}{low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
