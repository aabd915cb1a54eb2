"""The way to the servers: any gateway of several, and who asks. Made on the driver and sent to the workers."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from ssl import SSLContext

from acklog import Client
from acklog.client.address import base_url_of, headers_of
from acklog.client.aiohttp_transport import AiohttpTransport
from acklog.client.call import Request, Response
from acklog.client.caller import Caller
from acklog.client.retry import Backoff
from acklog.client.tls_files import ClientTlsFiles, given_or_found_files
from acklog.errors import CannotConnect, ConnectionFailed, InvalidArgument
from acklog.runtime import fraction
from acklog.version import __version__
from pyspark_acklog.failures import OptionError
from pyspark_acklog.tls_content import TlsContent

CONNECTIONS_MAX = 8
"""To each gateway, of one task."""
RETRIES_MAX = 10_000
"""Tries end by their deadline, not by their number."""
_OPTIONS = {"ca_file": "caFile", "certificate_file": "certificateFile", "key_file": "keyFile"}
_TURN_AWAY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where the gateways are. The token and the certificates travel inside, since workers have no such files. Without
    `tls` the system's authorities are trusted, and no certificate of ours is shown."""

    urls: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    tls: TlsContent | None = field(default=None, repr=False)
    timeout_s: float = 120.0

    def transport(self, *, first: int = 0) -> "AnyGateway":
        """Requests to any of the gateways, beginning with number `first`."""
        headers = headers_of(self.token, version=__version__)
        turned = [*self.urls[first % len(self.urls) :], *self.urls[: first % len(self.urls)]]
        tls = None if self.tls is None else partial(_same, self.tls.context())
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


def _same(context: SSLContext) -> SSLContext:
    return context


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
    """From the options `url`, `profile`, `token`, `tokenFile`, `caFile`, `certificateFile` and `keyFile`, and the
    command's variables where none is given. Raises OptionError."""
    if "profile" in given and "url" in given:
        raise OptionError("profile", "give either a profile or a url")
    if "token" in given and "tokenFile" in given:
        raise OptionError("tokenFile", "give either token or tokenFile")
    url = given.get("url")
    profile_token, profile_files = None, ClientTlsFiles()
    profile = given.get("profile") or ("" if url or "ACKLOG_URL" in os.environ else os.environ.get("ACKLOG_PROFILE"))
    if profile:
        url, profile_token, profile_files = _of_profile(profile)
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
    return Connection(
        urls=tuple(urls), token=token, tls=_tls_of(given, profile_files, tuple(urls)), timeout_s=timeout_s
    )


def _tls_of(given: dict[str, str], of_profile: ClientTlsFiles, urls: tuple[str, ...]) -> TlsContent | None:
    """Raises OptionError."""
    own_certificate, own_key = given.get("certificateFile"), given.get("keyFile")
    if own_certificate is None and own_key is None:
        own_certificate, own_key = of_profile.certificate_file, of_profile.key_file
    try:
        files = ClientTlsFiles(given.get("caFile", of_profile.ca_file), own_certificate, own_key)
        return tls_content_of(files, urls, variable=lambda name: os.environ.get(name, ""))
    except InvalidArgument as error:
        raise OptionError(_OPTIONS[error.field or "ca_file"], error.detail) from None


def tls_content_of(
    files: ClientTlsFiles, urls: tuple[str, ...], *, variable: Callable[[str], str]
) -> TlsContent | None:
    """One for all gateways; None where nothing is said. Raises InvalidArgument."""
    found = [given_or_found_files(url, files, variable) for url in urls]
    named = next((each for each in found if each is not None), None)
    try:
        return None if named is None else TlsContent.of(named)
    except OSError as error:
        raise InvalidArgument(f"{error.filename} cannot be read: {error.strerror}", field="ca_file") from None


def _token_in(given: dict[str, str]) -> str | None:
    return _text_of("tokenFile", given["tokenFile"]).strip() if "tokenFile" in given else None


def _text_of(option: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(option, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _of_profile(name: str) -> tuple[str, str | None, ClientTlsFiles]:
    import typer

    from acklog.command.failures import CommandError
    from acklog.command.profiles import ProfileStore

    store = ProfileStore(Path(typer.get_app_dir("acklog")))
    try:
        profile = store.get(name)
        return profile.server, store.token(name), ClientTlsFiles(**profile.files.named())
    except CommandError as error:
        raise OptionError("profile", str(error)) from None


def pause(duration_s: float) -> None:
    """Wait."""
    time.sleep(duration_s)
