"""What a process is told anew while it serves: at SIGHUP, its configuration file and its tokens are read again.

It is all or nothing: where anything that is read cannot be used, the process goes on with what it had.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

import structlog

from app.auth.tokens import TokensFileError, TokenTable
from app.configuration.configured_process import ConfiguredProcess
from app.configuration.reloading import Changes, Told, changes, told
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.processes.logging import set_log_level

NAMES_MAX = 20
"""Names of tokens in one line of the log."""

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)


class InThread(Protocol):
    """Has a function called off the event loop: files may be on a network."""

    def __call__(self, function: Callable[[], _Result], /) -> Awaitable[_Result]: ...


class _News(NamedTuple):
    now: Told
    changes: Changes
    tokens: TokenTable | None


async def _nothing_to_see() -> None:
    """Of a process without certificates."""


class Reloads:
    """For one event loop. `settings` and `tokens` are those that the server goes by, and are changed; what stores
    has neither, and a server that is open to everybody has no tokens."""

    def __init__(
        self,
        process: ConfiguredProcess,
        *,
        in_thread: InThread,
        settings: Settings | None = None,
        tokens: TokenTable | None = None,
        look: Callable[[], Awaitable[None]] = _nothing_to_see,
        on_changed: Callable[[], None] = lambda: None,
        running: Told | None = None,
    ) -> None:
        """`look` has the files of certificates looked at; `on_changed` is told that the settings have changed.
        `running`: what the process goes by, where that is not what it was told first."""
        self._process = process
        self._in_thread = in_thread
        self._settings = settings
        self._tokens = tokens
        self._running = running or told(process)
        self._look = look
        self._on_changed = on_changed
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
            news = await self._in_thread(self._read)
        except (SettingsError, TokensFileError) as error:
            _log.error("reload_refused", reason=str(error), goes_on_with="what it had before")
            return
        self._take(news)

    def _read(self) -> _News:
        """Raises SettingsError and TokensFileError. On another thread: it changes nothing here."""
        now = told(self._process.again())
        found = changes(self._running, now)
        path = str(now.live.get("tokens_file", ""))
        if self._tokens is None:
            if self._settings is not None and "tokens_file" in found.live:
                # Also the guard against other people's web pages would have to go, see `app.http.protocol.web_guard`.
                del found.live["tokens_file"]
                found.at_restart.append(f"{self._process.sources.table}.tokens_file")
            return _News(now, found, None)
        if not path and self._settings is not None and self._settings.require_tokens:
            return _News(now, found, TokenTable())
        if not path:
            raise SettingsError("tokens_file is gone, which would open the server to everybody: that takes a restart")
        return _News(now, found, TokenTable.load(path))

    def _take(self, news: _News) -> None:
        live = news.changes.live
        before = {name: self._running.live[name] for name in live}
        self._running = Told({**self._running.live, **live}, self._running.fixed)
        if self._settings is not None:
            self._settings.adopt(live)
            self._on_changed()
        if "log_level" in live:
            set_log_level(str(live["log_level"]))
        _log.info("reloaded", changed={name: [before[name], live[name]] for name in live}, **self._take_tokens(news))
        if news.changes.at_restart:
            _log.warning("reload_needs_restart", settings=news.changes.at_restart)

    def _take_tokens(self, news: _News) -> dict[str, object]:
        """What the log says of it: names, and no more."""
        if self._tokens is None or news.tokens is None or self._tokens.is_same_as(news.tokens):
            return {}
        before, now = self._tokens.names(), news.tokens.names()
        self._tokens.adopt(news.tokens)
        return {
            "tokens": len(self._tokens),
            "identities": len(self._tokens.identities.rules),
            "names_added": sorted(now - before)[:NAMES_MAX],
            "names_removed": sorted(before - now)[:NAMES_MAX],
        }
