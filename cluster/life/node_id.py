"""Whose a node id is: looked at before a start takes an incarnation, which would make the present holder end."""

from dataclasses import dataclass

import structlog

from cluster.life.registration_settings import RegistrationSettings
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore, KeyValue

_log = structlog.get_logger(__name__)


class DirectoryConflictError(Exception):
    """A living node with another data directory has the same node id: two machines with one id in their settings."""


@dataclass(slots=True)
class _Holder:
    """Another directory's registration, and how long it is known to have stayed.

    Leases end only while the store answers: etcd without a leader ends none, and its next leader gives each of them its
    whole time anew. So only the time between an answer and the next question counts, and none of it once a question
    was not answered.
    """

    lease_id: int
    seen_at_ms: int
    stayed_ms: int = 0

    def seen_again(self, *, asked_at_ms: int, answered_at_ms: int) -> None:
        self.stayed_ms += asked_at_ms - self.seen_at_ms
        self.seen_at_ms = answered_at_ms


async def wait_for_node_id(
    store: CoordinationStore, node_id: int, directory_id: str, *, clock: Clock, settings: RegistrationSettings
) -> None:
    """Return once no other data directory is registered under the node id; waits for a store that cannot be reached.

    `directory_id` is "" for a new directory. A registration of the same directory is one of an earlier life: only one
    process uses a directory at a time. Raises DirectoryConflictError for one of another directory that does not end
    within `directory_conflict_wait_ms`: it is kept alive by somebody.
    """
    holder: _Holder | None = None
    failures = 0
    while True:
        asked_at_ms = clock.monotonic_ms()
        try:
            item = await store.get(keys.node(node_id))
        except CoordinationError as error:
            holder = None
            failures += 1
            _log.warning("node_id_not_checked", node=node_id, reason=str(error), failures=failures)
        else:
            failures = 0
            other = None if item is None else decode(NodeRegistration, item.value)
            if item is None or other is None or other.directory_id == directory_id:
                return
            holder = _held_on(holder, item, asked_at_ms=asked_at_ms, answered_at_ms=clock.monotonic_ms())
            if holder.stayed_ms >= settings.directory_conflict_wait_ms:
                raise DirectoryConflictError(
                    f"node {node_id} at {other.address} is registered with the data directory {other.directory_id}, "
                    "and lives: give this node another id, or stop that one"
                )
            if holder.stayed_ms == 0:
                _log.warning("node_id_in_use", node=node_id, address=other.address, directory_id=other.directory_id)
        await clock.sleep(settings.backoff.delay_ms(failures))


def _held_on(known: _Holder | None, item: KeyValue, *, asked_at_ms: int, answered_at_ms: int) -> _Holder:
    """A registration under another lease is another one: its own end is waited for."""
    if known is None or known.lease_id != item.lease_id:
        return _Holder(item.lease_id, answered_at_ms)
    known.seen_again(asked_at_ms=asked_at_ms, answered_at_ms=answered_at_ms)
    return known
