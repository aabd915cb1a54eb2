"""Quotas: what may be done at most per second, of which topic, group or token; and which node deals it out."""

from collections.abc import Iterable
from typing import NamedTuple

from acklog.wire.partitioner import hash_of_key
from cluster.model.needed_protocol import PROTOCOL_OF_QUOTAS
from cluster.model.values import NodeRegistration


class Quota(NamedTuple):
    """`key` is the identity, with a topic's or a group's id in it (rule R14); `name` is what people read, as in
    `topic/orders/sendMessagesPerSecond`: its last part is the setting that limits."""

    key: str
    name: str
    per_second: int

    @property
    def parts(self) -> tuple[str, str, str]:
        """Of its key: the kind, whose it is, and the setting. A token's name may have slashes."""
        kind, _, rest = self.key.partition("/")
        identity, _, setting = rest.rpartition("/")
        return kind, identity, setting


def quota_of(kind: str, identity: str, name: str, setting: str, per_second: int) -> Quota:
    return Quota(f"{kind}/{identity}/{setting}", f"{kind}/{name}/{setting}", per_second)


def owner_of_quota(key: str, nodes: Iterable[NodeRegistration]) -> int | None:
    """The node that deals the quota out: among those that are registered and know of quotas, the same for everybody who
    sees the same ones; another one's coming or going moves nothing but what is, or becomes, its own. None: there is
    none."""
    knowing = [node.node_id for node in nodes if node.newest_protocol >= PROTOCOL_OF_QUOTAS]
    return max(knowing, key=lambda node_id: (hash_of_key(f"{key}/{node_id}"), node_id), default=None)
