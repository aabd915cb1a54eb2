"""A disk without any space left."""

from pathlib import Path

MIB = 1024 * 1024


def fill_up(path: Path) -> None:
    """Make a file that takes what is left of the disk."""
    with path.open("wb", buffering=0) as file:
        for piece in (MIB, 65536, 4096):
            try:
                while True:
                    file.write(bytes(piece))
            except OSError:
                continue
