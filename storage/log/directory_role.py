"""Whose a data directory is: the embedded server's, or a certain node's of a cluster.

The two keep topics and groups in different places, and a node's copies are counted by its number. So a directory that
is started as something else would be served without what it belongs to.
"""

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.disk.port import Disk
from storage.log.checkpoint import read_file, replace_file
from storage.log.data_directory import META_PATH, DataDirectoryError

ROLE_PATH = "role.json"


class DirectoryRole(msgspec.Struct, frozen=True, rename="camel"):
    """Only nodes of a cluster write one."""

    node_id: int


_decode = with_decode_errors(msgspec.json.Decoder(DirectoryRole).decode)


def read_role(disk: Disk) -> DirectoryRole | None:
    """None for a directory that is not a cluster's; raises DataDirectoryError."""
    content = read_file(disk, ROLE_PATH)
    if content is None:
        return None
    try:
        return _decode(content)
    except msgspec.DecodeError as error:
        raise DataDirectoryError(f"{ROLE_PATH} is damaged: {error}") from error


def claim_for_node(disk: Disk, node_id: int, *, embedded_path: str) -> None:
    """Say durably that the directory is this node's. `embedded_path` is a file that only an embedded server makes.

    Raises DataDirectoryError where it is somebody else's.
    """
    role = read_role(disk)
    if role is None and not disk.exists(embedded_path) and disk.exists(META_PATH):
        raise DataDirectoryError(
            f"{ROLE_PATH} is missing, although a node has used the directory: restore it (for node {node_id} it has "
            f'{{"nodeId":{node_id}}}), or give the node an empty directory'
        )
    if role is None:
        if disk.exists(embedded_path):
            raise DataDirectoryError("it is that of an embedded server (acklog serve): give this node another one")
        replace_file(disk, ROLE_PATH, [msgspec.json.encode(DirectoryRole(node_id)), b"\n"])
    elif role.node_id != node_id:
        raise DataDirectoryError(f"it is that of node {role.node_id}: give node {node_id} another one")


def check_embedded(disk: Disk, *, embedded_path: str) -> None:
    """`embedded_path` is the file with topics and groups, which is durable before the meta file is written.

    Raises DataDirectoryError for a directory of a cluster, and for one that has been used and lacks that file: without
    it a server would be an empty one, and what is stored out of reach (rule R34).
    """
    role = read_role(disk)
    if role is not None:
        raise DataDirectoryError(
            f"it is that of node {role.node_id} of a cluster: run acklog node --id {role.node_id}, "
            "or give another --data-dir"
        )
    if disk.exists(META_PATH) and not _has_bytes(disk, embedded_path):
        raise DataDirectoryError(
            f"{embedded_path}, the file with topics and groups, is missing or empty, although a server has used the "
            "directory: restore the data directory from a backup, or make the file anew with acklog rebuild"
        )


def _has_bytes(disk: Disk, path: str) -> bool:
    if not disk.exists(path):
        return False
    file = disk.open(path)
    try:
        return file.size() > 0
    finally:
        file.close()
