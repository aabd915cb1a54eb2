"""The peers of a node that is alone."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.rpc.peer_api import PeerApi


class NoPeers:
    """Peers of the embedded server: nobody is ever asked."""

    def peer(self, node_id: int) -> PeerApi:
        raise ServerError(ProblemCode.UNAVAILABLE, f"There is no node {node_id}.")
