"""The controller of a cluster: every node campaigns, one is elected and runs the loop until its term ends."""

import asyncio

import structlog

from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.figures import ControllerFigures
from cluster.controller.image import ClusterImage
from cluster.controller.loop import ControllerLoop, FencedError
from cluster.life.election import Election, Term
from cluster.model.values import ControllerClaim
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore

_log = structlog.get_logger(__name__)


class ControllerHost:
    """Runs in every node. `start` it when the node is ready to serve, `close` it before the store is closed."""

    def __init__(
        self,
        store: CoordinationStore,
        claim: ControllerClaim,
        *,
        clock: Clock,
        settings: ControllerSettings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings or ControllerSettings()
        self._election = Election(store, claim, clock=clock, settings=self._settings.election)
        self._loop: ControllerLoop | None = None
        self._term: Term | None = None
        self._task: asyncio.Task[None] | None = None
        self.figures = ControllerFigures()

    @property
    def is_controller(self) -> bool:
        """Goes by the clock, so it is right at once after any pause of the process."""
        return self._term is not None and self._term.is_valid

    @property
    def image(self) -> ClusterImage | None:
        """What this node knows as the controller; None while it is not."""
        return self._loop.image if self._loop is not None and self.is_controller else None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="controller host")

    async def close(self) -> None:
        """Stop, and give the office back, so that another node need not wait for the lease's end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while True:
                term = await self._election.campaign()
                await self._serve(term)
        except Exception:
            _log.exception("controller_host_failed")
            raise

    async def _serve(self, term: Term) -> None:
        self._term = term
        self._loop = ControllerLoop(
            self._store,
            clock=self._clock,
            settings=self._settings,
            figures=self.figures,
            fence=(term.fence,),
            may_act=lambda: term.is_valid,
        )
        self.figures.terms += 1
        self.figures.is_controller = True
        working = asyncio.create_task(self._work(self._loop, term), name="controller")
        try:
            await self._election.hold(term)
        finally:
            working.cancel()
            outcome = (await asyncio.gather(working, return_exceptions=True))[0]
            self._term = self._loop = None
            self.figures.is_controller = False
            await self._election.resign(term)
        if isinstance(outcome, Exception):
            raise outcome

    async def _work(self, loop: ControllerLoop, term: Term) -> None:
        """Ends the term when it is fenced, or fails: another node, or this one anew, has to take over."""
        try:
            await loop.run()
        except FencedError as error:
            self.figures.fenced += 1
            _log.warning("controller_fenced", token=term.token, reason=str(error))
        finally:
            term.lease.end()
