"""Whose a node id is: looked at before a start takes an incarnation, which would make the present holder end."""

import structlog

from cluster import keys
from cluster.clock import Clock
from cluster.codec import decode
from cluster.coordination import CoordinationError, CoordinationStore
from cluster.model import NodeRegistration
from cluster.registration import DirectoryConflictError, RegistrationSettings

_log = structlog.get_logger(__name__)


async def wait_for_node_id(
    store: CoordinationStore, node_id: int, directory_id: str, *, clock: Clock, settings: RegistrationSettings
) -> None:
    """Return once no other data directory is registered under the node id; waits for a store that cannot be reached.

    `directory_id` is "" for a new directory. A registration of the same directory is one of an earlier life: only one
    process uses a directory at a time. Raises DirectoryConflictError for one of another directory that does not end
    within `directory_conflict_wait_ms`: it is kept alive by somebody.
    """
    conflict_since_ms: int | None = None
    failures = 0
    while True:
        try:
            item = await store.get(keys.node(node_id))
        except CoordinationError as error:
            failures += 1
            _log.warning("node_id_not_checked", node=node_id, reason=str(error), failures=failures)
        else:
            other = None if item is None else decode(NodeRegistration, item.value)
            if other is None or other.directory_id == directory_id:
                return
            failures = 1
            now_ms = clock.monotonic_ms()
            if conflict_since_ms is None:
                conflict_since_ms = now_ms
                _log.warning("node_id_in_use", node=node_id, address=other.address, directory_id=other.directory_id)
            if now_ms - conflict_since_ms >= settings.directory_conflict_wait_ms:
                raise DirectoryConflictError(
                    f"node {node_id} at {other.address} is registered with the data directory {other.directory_id}, "
                    "and lives: give this node another id, or stop that one"
                )
        await clock.sleep(settings.backoff.delay_ms(failures))
