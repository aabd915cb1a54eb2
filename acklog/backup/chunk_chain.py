"""What of a partition need not be read again: pure."""

from collections.abc import Iterable

from acklog.backup.content_file import Chunk

SEALED_BYTES = 32 * 1024 * 1024
"""A file that has as much is kept as it is; a smaller one at a log's end is replaced by a larger one as that grows."""


def chunk_chain(known: Iterable[Chunk], start: int, end: int) -> list[Chunk]:
    """Files that follow one another from the one that holds `start` on, as far as they go within `end`: sealed ones,
    and one that goes to the end exactly. Reading goes on where the last one ends."""
    usable = [each for each in known if each.end <= end and (each.size_bytes >= SEALED_BYTES or each.end == end)]
    chain: list[Chunk] = []
    position = start
    while True:
        following = [
            each for each in usable if each.start <= position < each.end and (each.start == position or not chain)
        ]
        if not following:
            return chain
        chain.append(max(following, key=lambda each: (each.end, each.size_bytes, each.name)))
        position = chain[-1].end
