"""List, then watch, for as long as it takes: the one way to keep a copy of a part of the coordination store (R17)."""

from collections.abc import AsyncGenerator

import structlog

from cluster.backoff import Backoff
from cluster.ports.clock import Clock
from cluster.ports.coordination import CompactedError, CoordinationError, CoordinationStore, Listing, Watch, WatchBatch

_log = structlog.get_logger(__name__)


async def follow(
    store: CoordinationStore, prefix: str, *, clock: Clock, backoff: Backoff
) -> AsyncGenerator[Listing | WatchBatch, None]:
    """First a listing, then every later change in order; another listing, which replaces all, where history is lost.

    Outlives a store that cannot be reached. Close it (`contextlib.aclosing`) to stop.
    """
    failures = 0
    while True:
        try:
            listing = await store.list(prefix)
        except CoordinationError as error:
            failures += 1
            _log.warning("store_listing_failed", prefix=prefix, reason=str(error), failures=failures)
            await clock.sleep(backoff.delay_ms(failures))
            continue
        yield listing
        revision = listing.revision
        is_compacted = False
        while not is_compacted:
            watch: Watch | None = None
            try:
                watch = store.watch(prefix, revision + 1)
                async for batch in watch:
                    failures = 0
                    revision = batch.revision
                    yield batch
            except CompactedError:
                is_compacted = True
            except CoordinationError as error:
                _log.warning("store_watch_broken", prefix=prefix, reason=str(error), failures=failures + 1)
            finally:
                if watch is not None:
                    await watch.aclose()
            if not is_compacted:
                failures += 1
                await clock.sleep(backoff.delay_ms(failures))
