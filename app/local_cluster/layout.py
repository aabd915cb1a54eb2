"""The ports of a local cluster's processes. Kept beside the data, as the members of etcd know each other by them."""

from pathlib import Path

import msgspec

from app.local_cluster.server_process import free_ports

FILE = "layout.json"


class LayoutError(Exception):
    """The directory belongs to another cluster than the one that is asked for; the text says what to do."""


class EtcdPlace(msgspec.Struct, frozen=True, rename="camel"):
    client_port: int
    peer_port: int


class NodePlace(msgspec.Struct, frozen=True, rename="camel"):
    port: int
    http_port: int


class Layout(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """In the order of their numbers, from 1."""

    etcd: tuple[EtcdPlace, ...]
    nodes: tuple[NodePlace, ...]


def make_layout(directory: Path, *, etcd: int, nodes: int) -> Layout:
    """What the directory's layout says, with more nodes if more are asked for, or a new one. It is written down.

    Raises LayoutError.
    """
    known = _read(directory / FILE)
    if known is not None and len(known.etcd) != etcd:
        raise LayoutError(
            f"{directory} has a cluster with {len(known.etcd)} etcd members, not {etcd}: "
            "give as many, or another --data-dir"
        )
    ports = free_ports(2 * etcd + 2 * nodes)
    places = known.etcd if known is not None else tuple(EtcdPlace(ports.pop(), ports.pop()) for _ in range(etcd))
    known_nodes = () if known is None else known.nodes
    added = tuple(NodePlace(ports.pop(), ports.pop()) for _ in range(nodes - len(known_nodes)))
    layout = Layout(places, known_nodes + added)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(layout)) + b"\n")
    return layout


def _read(path: Path) -> Layout | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Layout)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise LayoutError(f"{path} is not what was written: {error}") from error
