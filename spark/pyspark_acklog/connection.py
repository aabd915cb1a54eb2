"""The way to the servers: any gateway of several, and who asks. Made on the driver and sent to the workers."""

import os
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

from acklog import Client
from acklog.client.address import base_url_of, headers_of
from acklog.client.aiohttp_transport import AiohttpTransport
from acklog.client.call import Request, Response
from acklog.client.caller import Caller
from acklog.client.retry import Backoff
from acklog.errors import CannotConnect, ConnectionFailed, InvalidArgument
from acklog.runtime import fraction
from acklog.version import __version__
from pyspark_acklog.failures import OptionError

CONNECTIONS_MAX = 8
"""To each gateway, of one task."""
RETRIES_MAX = 10_000
"""Tries end by their deadline, not by their number."""
_TURN_AWAY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where the gateways are. The token and the certificates travel inside, since workers have no such files."""

    urls: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    ca_pem: str | None = field(default=None, repr=False)
    timeout_s: float = 120.0

    def tls(self) -> ssl.SSLContext | None:
        """None for the system's authorities. Raises OptionError."""
        if self.ca_pem is None:
            return None
        try:
            return ssl.create_default_context(cadata=self.ca_pem)
        except ssl.SSLError as error:
            raise OptionError("caFile", f"holds no certificates in PEM: {error.reason or error}") from None

    def transport(self, *, first: int = 0) -> "AnyGateway":
        """Requests to any of the gateways, beginning with number `first`."""
        headers = headers_of(self.token, version=__version__)
        turned = [*self.urls[first % len(self.urls) :], *self.urls[: first % len(self.urls)]]
        context = self.tls()
        tls = None if context is None else lambda: context
        return AnyGateway([AiohttpTransport(url, headers, connections_max=CONNECTIONS_MAX, tls=tls) for url in turned])

    def caller(self, *, first: int = 0) -> Caller:
        """For the asynchronous side: calls with retries within `timeout_s`."""
        return Caller(
            self.transport(first=first),
            timeout_s=self.timeout_s,
            retries_max=RETRIES_MAX,
            backoff=Backoff(max_ms=2_000),
            chance=fraction,
        )

    def client(self, *, timeout_s: float | None = None) -> Client:
        """The SDK's client over all gateways; close it. Without `timeout_s` a call is tried for 30 seconds at most."""
        limit_s = min(self.timeout_s, 30.0) if timeout_s is None else timeout_s
        return Client(self.urls[0], timeout_s=limit_s, retries_max=RETRIES_MAX, transport=self.transport())


class AnyGateway:
    """Asks one gateway, and turns to the next when it cannot be reached or cannot serve."""

    def __init__(self, transports: list[AiohttpTransport]) -> None:
        self._transports = transports
        self._turn = 0

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        number = self._turn
        try:
            response = await self._transports[number % len(self._transports)].perform(request, timeout_s=timeout_s)
        except (ConnectionFailed, CannotConnect):
            self._turn_from(number)
            raise
        if response.status in _TURN_AWAY:
            self._turn_from(number)
        return response

    def _turn_from(self, number: int) -> None:
        """To the next one, unless another request has turned already."""
        if self._turn == number:
            self._turn += 1

    async def close(self) -> None:
        for transport in self._transports:
            await transport.close()


def connection_of(given: dict[str, str], *, timeout_s: float) -> Connection:
    """From the options `url`, `profile`, `token`, `tokenFile`, `caFile`, and the command's variables where none is
    given. Raises OptionError."""
    if "profile" in given and "url" in given:
        raise OptionError("profile", "give either a profile or a url")
    if "token" in given and "tokenFile" in given:
        raise OptionError("tokenFile", "give either token or tokenFile")
    url = given.get("url")
    profile_token = None
    profile = given.get("profile") or ("" if url or "ACKLOG_URL" in os.environ else os.environ.get("ACKLOG_PROFILE"))
    if profile:
        url, profile_token = _of_profile(profile)
    url = url or os.environ.get("ACKLOG_URL") or "http://127.0.0.1:8080"
    token = given.get("token") or _token_in(given) or profile_token or os.environ.get("ACKLOG_TOKEN") or None
    urls = []
    for each in url.split(","):
        try:
            urls.append(base_url_of(each.strip()))
        except InvalidArgument as error:
            raise OptionError("url", error.detail) from None
    try:
        headers_of(token, version=__version__)
    except InvalidArgument as error:
        raise OptionError("token", error.detail) from None
    ca_pem = _text_of("caFile", given["caFile"]) if "caFile" in given else None
    connection = Connection(urls=tuple(urls), token=token, ca_pem=ca_pem, timeout_s=timeout_s)
    connection.tls()
    return connection


def _token_in(given: dict[str, str]) -> str | None:
    return _text_of("tokenFile", given["tokenFile"]).strip() if "tokenFile" in given else None


def _text_of(option: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(option, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _of_profile(name: str) -> tuple[str, str | None]:
    import typer

    from acklog.command.failures import CommandError
    from acklog.command.profiles import ProfileStore

    store = ProfileStore(Path(typer.get_app_dir("acklog")))
    try:
        return store.get(name).server, store.token(name)
    except CommandError as error:
        raise OptionError("profile", str(error)) from None


def pause(duration_s: float) -> None:
    """Wait."""
    time.sleep(duration_s)
