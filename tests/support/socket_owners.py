"""Whose a local TCP connection is: its process, as the kernel tells it (Linux)."""

import os
from collections.abc import Iterable
from pathlib import Path

_TABLES = (
    (Path("/proc/net/tcp"), "0100007F"),
    (Path("/proc/net/tcp6"), "0000000000000000FFFF00000100007F"),  # a socket for both families (gRPC's are)
)


def owner_of(port: int, far_port: int, pids: Iterable[int]) -> int | None:
    """The process, one of `pids`, that has opened the connection from `port` to `far_port`, both on 127.0.0.1; None:
    none of them. Both count: several connections may go out from one port, to different ones."""
    inode = _inode_of(port, far_port)
    if inode is None:
        return None
    wanted = f"socket:[{inode}]"
    return next((pid for pid in pids if wanted in _open_files(pid)), None)


def _inode_of(port: int, far_port: int) -> str | None:
    for table, host in _TABLES:
        addresses = [f"{host}:{port:04X}", f"{host}:{far_port:04X}"]
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            fields = line.split()
            if fields[1:3] == addresses and fields[9] != "0":
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
