"""Waiting for metadata that a caller knows already: a node's copy of it may be a moment behind a gateway's."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from cluster.metadata.metadata_view import MetadataView

_Found = TypeVar("_Found")


async def wait_for_metadata(
    metadata: MetadataView, look: Callable[[], _Found | None], *, timeout_ms: int
) -> _Found | None:
    """What `look` finds, now or after a change of the metadata; None if it is not there after `timeout_ms`."""
    found = look()
    if found is not None:
        return found
    changed = asyncio.Event()
    unsubscribe = metadata.subscribe(changed.set)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            while (found := look()) is None:
                await changed.wait()
                changed.clear()
    except TimeoutError:
        return None
    finally:
        unsubscribe()
    return found
