"""Writes the identity of each log that a start found without one, in the background: after an upgrade that may be all
of them, and each costs two syncs."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import structlog

from cluster.errors import ServerError
from storage.log.engine import Engine
from storage.log.keys import LogKey
from storage.log.log_identity import keep_identity
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.uncancelled import uncancelled

IDENTITY_PAUSE_MS = 20
"""Before each: rounds of the group commit need the disk, too."""

logger = structlog.get_logger(__name__)


class IdentityWriter:
    """Of one data directory. What it has not got to is left to the next start; a log that is written to gets its
    identity by itself."""

    def __init__(
        self,
        engine: Engine,
        maintenance: Maintenance,
        states: Mapping[LogKey, LogState],
        unnamed: Sequence[LogState],
    ) -> None:
        self._engine = engine
        self._maintenance = maintenance
        self._states = states
        self._unnamed = unnamed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._unnamed:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            for state in self._unnamed:
                await self._engine.clock.sleep(IDENTITY_PAUSE_MS)
                await uncancelled(self._write(state))
        except ServerError as error:
            logger.warning("log_identities_not_written", reason=str(error))

    async def _write(self, state: LogState) -> None:
        """A log that was removed meanwhile has no directory, or one of another life."""
        async with self._maintenance.exclusive():
            if self._states.get(state.key) is state:
                await self._maintenance.run(partial(keep_identity, self._engine.disk, state.key))
