"""A number for every start of a node, never the same twice."""

from cluster.backoff import Backoff
from cluster.model import keys
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    CoordinationStore,
    CoordinationUnavailableError,
    OutcomeUnknownError,
    Put,
    absent,
    unchanged,
)

ATTEMPTS_MAX = 20


async def take_incarnation(
    store: CoordinationStore, node_id: int, *, clock: Clock, backoff: Backoff | None = None
) -> int:
    """Count this start of the node; from 1. A try whose outcome is unknown only leaves out a number.

    Raises CoordinationUnavailableError after ATTEMPTS_MAX tries.
    """
    backoff = backoff or Backoff()
    key = keys.incarnation(node_id)
    failure = "others take incarnations of the same node all the time"
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            item = await store.get(key)
            incarnation = 1 if item is None else int(item.value) + 1
            guard = absent(key) if item is None else unchanged(item)
            if (await store.transact([guard], [Put(key, b"%d" % incarnation)])).succeeded:
                return incarnation
        except (CoordinationUnavailableError, OutcomeUnknownError) as error:
            failure = str(error)
        await clock.sleep(backoff.delay_ms(attempt))
    raise CoordinationUnavailableError(f"no incarnation for node {node_id}: {failure}")
