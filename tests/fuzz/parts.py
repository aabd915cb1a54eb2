"""Inputs of several parts: text that a person can write into a corpus, with a line of dashes between the parts."""

SEPARATOR = b"\n---\n"


def parts_of(data: bytes, count: int) -> list[bytes]:
    """So many; those that are not there are empty. The last one may hold anything."""
    found = data.split(SEPARATOR, count - 1)
    return found + [b""] * (count - len(found))


def joined(*parts: bytes) -> bytes:
    return SEPARATOR.join(parts)


def text_of(data: bytes) -> str:
    """Any text, as a server decodes headers."""
    return data.decode("latin-1")


def cut_up(data: bytes, seed: int) -> list[bytes]:
    """The bytes in pieces, the same for the same seed: lengths of 1 to 64, as a multiplicative generator gives them."""
    pieces = []
    state = seed * 2 + 1
    at = 0
    while at < len(data):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        length = 1 + (state >> 58)
        pieces.append(data[at : at + length])
        at += length
    return pieces
