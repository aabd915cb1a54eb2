"""What files take on the disk."""

from pathlib import Path

BLOCK_BYTES = 512  # of st_blocks, whatever the file system has


def disk_use_bytes(directory: Path) -> int:
    """What the file system has given to all files below."""
    return sum(each.stat().st_blocks * BLOCK_BYTES for each in directory.rglob("*") if each.is_file())
