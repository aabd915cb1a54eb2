"""Refusing what some registered node could not read, or not store as it is to be stored."""

import asyncio

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.needed_protocol import ANY_PROTOCOL
from cluster.model.values import Encryption, TopicConfig
from cluster.ports.coordination import CoordinationError

NODES_NAMED_MAX = 10


class KnownByAll:
    """Asks what the registered nodes say of themselves. Gateways do not register: they are upgraded first, or last,
    and pass on what they do not know."""

    def __init__(self, metadata: MetadataView, *, timeout_ms: int) -> None:
        self._metadata = metadata
        self._timeout_ms = timeout_ms

    async def require(self, protocol: int, what: str) -> None:
        """Return if every node that is registered now speaks this version of the protocol; the store is asked which
        there are. Raises ServerError NODES_TOO_OLD, UNAVAILABLE.

        One that registers a moment later is not kept away: it is told of where nodes and gateways log, and in
        `GET /cluster`.
        """
        if protocol == ANY_PROTOCOL:
            return
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                await self._metadata.confirm_all(keys.NODES)
        except (TimeoutError, CoordinationError) as error:
            detail = f"it cannot be known now whether every node can serve {what}: {error or 'no answer in time'}"
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=1000) from error
        self.check(protocol, what)

    def check(self, protocol: int, what: str) -> None:
        """As `require`, by what the view shows. Raises ServerError NODES_TOO_OLD."""
        earlier = self._metadata.steering.membership.earlier_than(protocol)
        if not earlier:
            return
        nodes = [member.node_id for member in earlier]
        named = ", ".join(map(str, nodes[:NODES_NAMED_MAX])) + (" and more" if len(nodes) > NODES_NAMED_MAX else "")
        raise ServerError(
            ProblemCode.NODES_TOO_OLD,
            f"node {named} is of a version that knows no {what}: upgrade every node, then ask again",
            extra={"nodes": nodes, "neededProtocol": protocol},
        )

    def check_master_key(self, config: TopicConfig) -> None:
        """Return if all registered nodes can encrypt by one master key, or nothing is to be encrypted. Raises
        ServerError NO_MASTER_KEY."""
        if config.encryption is Encryption.OFF:
            return
        members = self._metadata.steering.membership.live()
        held = {
            member.node_id: member.registration.master_keys for member in members if member.registration is not None
        }
        without = [node_id for node_id, ids in held.items() if not ids]
        if without or not held:
            which = f"node {without[0]} has none" if without else "no node is registered"
            detail = f"encryption needs a master key on every node, and {which}: give it one and start it again"
            raise ServerError(ProblemCode.NO_MASTER_KEY, detail, field="config.encryption", extra={"nodes": without})
        if not any(all(ids[0] in others for others in held.values()) for ids in held.values()):
            detail = "the nodes have different master keys, so none could read what another one stores"
            raise ServerError(
                ProblemCode.NO_MASTER_KEY, detail, field="config.encryption", extra={"nodes": sorted(held)}
            )
