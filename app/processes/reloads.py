"""What a process is told anew while it serves: at SIGHUP, its configuration file and its tokens are read again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import structlog

from app.auth.tokens import TokensFileError
from app.configuration.setting_error import SettingsError
from app.processes.in_force import InForce, tell_refused

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)


class InThread(Protocol):
    """Has a function called off the event loop: files may be on a network."""

    def __call__(self, function: Callable[[], _Result], /) -> Awaitable[_Result]: ...


async def _nothing_to_see() -> None:
    """Of a process without certificates."""


class Reloads:
    """For one event loop."""

    def __init__(
        self,
        in_force: InForce,
        *,
        in_thread: InThread,
        look: Callable[[], Awaitable[None]] = _nothing_to_see,
        on_changed: Callable[[], None] = lambda: None,
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        """`look` has the files of certificates looked at; `on_changed` is told that settings may have changed,
        `on_refused` that what was read cannot be used."""
        self._in_force = in_force
        self._in_thread = in_thread
        self._look = look
        self._on_changed = on_changed
        self._on_refused = on_refused
        self._is_wanted = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._task is not None

    def ask(self) -> None:
        """Reload soon. Asked for while one is under way, there is another one behind it, whatever their number."""
        if self.is_under_way and not self._is_wanted:
            _log.warning("reload_waits", reason="the one before is not done: it still reads its files")
        self._is_wanted = True
        if not self.is_under_way:
            self._task = asyncio.create_task(self._reload_while_wanted(), name="reload")

    async def _reload_while_wanted(self) -> None:
        try:
            while self._is_wanted:
                self._is_wanted = False
                await self.reload()
        finally:
            self._task = None

    async def reload(self) -> None:
        """What is wrong is told in the log, and changes nothing. Certificates are a matter of their own."""
        await self._look()
        try:
            news = await self._in_thread(self._in_force.read)
        except (SettingsError, TokensFileError) as error:
            tell_refused(error)
            self._on_refused()
            return
        self._in_force.take(news)
        self._on_changed()
