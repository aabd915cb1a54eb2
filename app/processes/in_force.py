"""What a process goes by: its configuration and its tokens, which are read again while it serves.

It is all or nothing: where anything that is read cannot be used, the process goes on with what it had.
"""

from typing import NamedTuple

import structlog

from app.auth.tokens import TokensFileError, TokenTable
from app.configuration.configured_process import ConfiguredProcess
from app.configuration.reloading import Changes, Told, changes, told
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.processes.logging import set_log_level

NAMES_MAX = 20
"""Names of tokens in one line of the log."""

_log = structlog.get_logger(__name__)


class News(NamedTuple):
    """What was read, and can be used."""

    changes: Changes
    tokens: TokenTable | None


class InForce:
    """`settings` and `tokens` are those that the process goes by, and are changed; what stores has neither, and a
    server that is open to everybody has no tokens."""

    def __init__(
        self, process: ConfiguredProcess, *, settings: Settings | None = None, tokens: TokenTable | None = None
    ) -> None:
        self._process = process
        self._settings = settings
        self._running = told(process)
        self.tokens = tokens

    def of_another(self, settings: Settings) -> "InForce":
        """Of a process that was forked from the one that this is of, and goes by settings of its own: it begins with
        what is in force here, whatever its files say by now."""
        settings.adopt(self._running.live)
        found = InForce(self._process, settings=settings, tokens=self.tokens)
        found._running = self._running
        return found

    def reload(self) -> bool:
        """On this thread. False, and told in the log, where what is read cannot be used."""
        try:
            news = self.read()
        except (SettingsError, TokensFileError) as error:
            tell_refused(error)
            return False
        self.take(news)
        return True

    def read(self) -> News:
        """Raises SettingsError and TokensFileError. It changes nothing, so another thread may call it."""
        now = told(self._process.again())
        found = changes(self._running, now)
        path = str(now.live.get("tokens_file", ""))
        if self.tokens is None:
            if self._settings is not None and "tokens_file" in found.live:
                # Also the guard against other people's web pages would have to go, see `app.http.protocol.web_guard`.
                del found.live["tokens_file"]
                found.at_restart.append(f"{self._process.sources.table}.tokens_file")
            return News(found, None)
        if not path and self._settings is not None and self._settings.require_tokens:
            return News(found, TokenTable())
        if not path:
            raise SettingsError("tokens_file is gone, which would open the server to everybody: that takes a restart")
        return News(found, TokenTable.load(path))

    def take(self, news: News) -> None:
        live = news.changes.live
        before = {name: self._running.live[name] for name in live}
        self._running = Told({**self._running.live, **live}, self._running.fixed)
        if self._settings is not None:
            self._settings.adopt(live)
        if "log_level" in live:
            set_log_level(str(live["log_level"]))
        _log.info("reloaded", changed={name: [before[name], live[name]] for name in live}, **self._take_tokens(news))
        if news.changes.at_restart:
            _log.warning("reload_needs_restart", settings=news.changes.at_restart)

    def _take_tokens(self, news: News) -> dict[str, object]:
        """What the log says of it: names, and no more."""
        if self.tokens is None or news.tokens is None or self.tokens.is_same_as(news.tokens):
            return {}
        before, now = self.tokens.names(), news.tokens.names()
        self.tokens.adopt(news.tokens)
        return {
            "tokens": len(self.tokens),
            "identities": len(self.tokens.identities.rules),
            "names_added": sorted(now - before)[:NAMES_MAX],
            "names_removed": sorted(before - now)[:NAMES_MAX],
        }


def tell_refused(error: SettingsError | TokensFileError) -> None:
    _log.error("reload_refused", reason=str(error), goes_on_with="what it had before")
