"""Whose a local TCP connection is: its process, as the kernel tells it (Linux)."""

import os
from collections.abc import Iterable
from pathlib import Path

_TABLE = Path("/proc/net/tcp")


def owner_of(port: int, pids: Iterable[int]) -> int | None:
    """The process, one of `pids`, whose end of a connection has this local port on 127.0.0.1; None: none of them."""
    inode = _inode_of(f"0100007F:{port:04X}")
    if inode is None:
        return None
    wanted = f"socket:[{inode}]"
    return next((pid for pid in pids if wanted in _open_files(pid)), None)


def _inode_of(local_address: str) -> str | None:
    for line in _TABLE.read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == local_address and fields[9] != "0":
            return fields[9]
    return None


def _open_files(pid: int) -> set[str]:
    directory = f"/proc/{pid}/fd"
    found = set()
    try:
        for name in os.listdir(directory):
            try:
                found.add(os.readlink(f"{directory}/{name}"))
            except OSError:
                continue  # closed meanwhile
    except OSError:
        return set()
    return found
