"""The controller of the embedded server: the same planner and loop, for a cluster of one node that needs no election.

Only one process opens the store, so there is no other controller to be fenced from. The node is known before it
registers: everything that it led is taken over, in a new leader epoch, before it opens its logs. There is nowhere to
move replicas to, so nothing is moved.
"""

import asyncio
from dataclasses import replace

import structlog

from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.figures import ControllerFigures
from cluster.controller.loop import ControllerLoop
from cluster.life.incarnation import take_incarnation
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, CoordinationUnavailableError

_log = structlog.get_logger(__name__)


class EmbeddedController:
    """Executes what `cluster.controller.planner` decides, at the start and whenever topics or groups change."""

    def __init__(
        self, store: CoordinationStore, *, node_id: int, clock: Clock, settings: ControllerSettings | None = None
    ) -> None:
        settings = settings or ControllerSettings()
        self._settings = replace(settings, planner=replace(settings.planner, moves_max=0, leader_moves_max=0))
        self._store = store
        self._node_id = node_id
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._is_ready: asyncio.Future[None] | None = None
        self.figures = ControllerFigures(is_controller=True)

    async def start(self) -> int:
        """Begin a new life of the node and take over what it leads; returns its incarnation.

        Raises CoordinationUnavailableError if the store cannot be reached for the first step; later ones wait for it.
        """
        incarnation = await take_incarnation(
            self._store, self._node_id, clock=self._clock, backoff=self._settings.backoff
        )
        self._is_ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(incarnation), name="controller")
        await self._is_ready
        return incarnation

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._is_ready is not None and not self._is_ready.done():
            self._is_ready.set_exception(CoordinationUnavailableError("the controller is closed"))

    async def _run(self, incarnation: int) -> None:
        loop = ControllerLoop(
            self._store,
            clock=self._clock,
            settings=self._settings,
            figures=self.figures,
            sole=NodeRegistration(self._node_id, incarnation, directory_id="", address=""),
        )
        try:
            await loop.run(self._tell_ready)
        except Exception as error:
            _log.exception("controller_failed")
            if self._is_ready is not None and not self._is_ready.done():
                self._is_ready.set_exception(error)
            raise

    def _tell_ready(self) -> None:
        if self._is_ready is not None and not self._is_ready.done():
            self._is_ready.set_result(None)
