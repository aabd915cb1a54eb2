"""What a process of the cluster may ask a node for, by what it has proved to be. Sans-IO.

Where nothing is proved (no TLS between the processes) a peer is what it says it is, and everybody on the network is
trusted.
"""

from typing import Any

from cluster.tls.peer_identity import PeerIdentity, PeerKind
from storage.replication.messages import FetchRequest
from storage.rpc.handshake import Hello
from storage.rpc.methods import PEER_METHODS, Method
from storage.rpc.peer_api import ProbeRequest


def fault_of_hello(identity: PeerIdentity | None, hello: Hello) -> str | None:
    """Why somebody who has proved to be `identity` cannot be introduced by this hello; None where they can be."""
    if identity is None:
        return None
    if identity.kind is PeerKind.STRANGER:
        return "its certificate names no part of a cluster (acklog://node/ID, acklog://gateway)"
    said = PeerKind.NODE if hello.is_node else PeerKind.GATEWAY
    # What a gateway asks a node for, a node may ask another one for: it sends dead letters.
    if said is PeerKind.NODE and identity.kind is not PeerKind.NODE:
        return f"it says that it is a node, and its certificate that it is a {identity}"
    return None


def fault_of_call(identity: PeerIdentity | None, method: Method[Any, Any], request: object) -> str | None:
    """Why this call is none for whoever makes it; None where it is."""
    if identity is None or method.number not in PEER_METHODS:
        return None
    if identity.kind is not PeerKind.NODE:
        return f"`{method.name}` is for nodes, and this is a {identity}"
    said = _said_to_be(request)
    if said is not None and said != identity.node_id:
        return f"`{method.name}` says that it comes from node {said}, and it comes from {identity}"
    return None


def _said_to_be(request: object) -> int | None:
    """The node that a call says it comes from."""
    if isinstance(request, FetchRequest):
        return request.follower.node_id
    return request.node_id if isinstance(request, ProbeRequest) else None
