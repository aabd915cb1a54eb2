"""What a command works with: the options given everywhere, the server they name, its client, and the output."""

import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from acklog.command.failures import UsageError
from acklog.command.output import Output, OutputStyle
from acklog.command.profiles import ProfileStore
from acklog.command.server_files import NO_FILES, ServerFiles

if TYPE_CHECKING:
    from acklog import AsyncClient, Client
    from acklog.command.server_certificate import ServerCertificate

VARIABLES = (  # beside NO_COLOR, COLUMNS and TERM
    "ACKLOG_URL",
    "ACKLOG_TOKEN",
    "ACKLOG_PROFILE",
    "ACKLOG_CA_FILE",
    "ACKLOG_CERTIFICATE_FILE",
    "ACKLOG_KEY_FILE",
)
DEFAULT_SERVER = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """Whom to ask. `source` says where the address comes from; `profile` is "" when it is from none. `files` are for
    TLS, those that there are."""

    url: str
    token: str | None
    source: str
    profile: str = ""
    files: ServerFiles = NO_FILES


def _connect(server: Server, timeout_s: float) -> "Client":
    from acklog import Client

    files = server.files
    return Client(
        server.url,
        token=server.token,
        timeout_s=timeout_s,
        ca_file=files.ca_file or None,
        certificate_file=files.certificate_file or None,
        key_file=files.key_file or None,
    )


def _connect_async(server: Server, timeout_s: float) -> "AsyncClient":
    from acklog import AsyncClient

    files = server.files
    return AsyncClient(
        server.url,
        token=server.token,
        timeout_s=timeout_s,
        ca_file=files.ca_file or None,
        certificate_file=files.certificate_file or None,
        key_file=files.key_file or None,
    )


def _shown_certificate(server: Server) -> "ServerCertificate":
    from acklog.command.server_certificate import shown_by

    return shown_by(server.url, server.files)


def now_ms() -> int:
    """Milliseconds since 1970."""
    import time

    return time.time_ns() // 1_000_000


def pause(duration_s: float) -> None:
    """Wait."""
    import time

    time.sleep(duration_s)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything outside of the command. Times are in milliseconds since 1970."""

    environment: Mapping[str, str]
    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]
    config_directory: Path
    connect: Callable[[Server, float], "Client"] = _connect
    connect_async: Callable[[Server, float], "AsyncClient"] = _connect_async
    shown_certificate: Callable[[Server], "ServerCertificate"] = _shown_certificate
    now_ms: Callable[[], int] = now_ms
    pause: Callable[[float], None] = pause

    @classmethod
    def of_process(cls) -> "Surroundings":
        """Those of this process."""
        return cls(os.environ, sys.stdin, sys.stdout, sys.stderr, Path(typer.get_app_dir("acklog")))


@dataclass(slots=True)
class GlobalOptions:
    """The options that every command takes, before or after its name. Empty means not given."""

    server: str = ""
    token: str = ""
    profile: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    is_json: bool = False
    is_quiet: bool = False
    has_no_color: bool = False
    is_debug: bool = False


@dataclass
class Session:
    """One run of a command. The options are complete when the command's function is called."""

    surroundings: Surroundings
    options: GlobalOptions = field(default_factory=GlobalOptions)

    @cached_property
    def output(self) -> Output:
        """Where data and chatter go."""
        around = self.surroundings
        style = OutputStyle(
            is_json=self.options.is_json,
            is_quiet=self.options.is_quiet,
            is_coloured=not self.options.has_no_color and not around.environment.get("NO_COLOR"),
        )
        return Output(around.stdout, around.stderr, style, around.environment)

    @cached_property
    def profiles(self) -> ProfileStore:
        return ProfileStore(self.surroundings.config_directory)

    @cached_property
    def server(self) -> Server:
        """The server that was meant: by --server, --profile, ACKLOG_URL, ACKLOG_PROFILE, the profile in use, or
        the default.

        A profile's token is for the profile's server only. Raises CommandError.
        """
        environment = self.surroundings.environment
        if self.options.server:
            return self._plain(self.options.server, "--server")
        if self.options.profile:
            return self._of_profile(self.options.profile, "--profile")
        if environment.get("ACKLOG_URL"):
            return self._plain(environment["ACKLOG_URL"], "ACKLOG_URL")
        if environment.get("ACKLOG_PROFILE"):
            return self._of_profile(environment["ACKLOG_PROFILE"], "ACKLOG_PROFILE")
        current = self.profiles.current()
        if current:
            return self._of_profile(current, "the profile in use")
        return self._plain(DEFAULT_SERVER, "the default")

    def client(self, *, timeout_s_max: float = math.inf) -> "Client":
        """A client of the server; close it (it is a context manager). `timeout_s_max`: whatever --timeout says."""
        return self.surroundings.connect(self.server, min(self.options.timeout_s, timeout_s_max))

    def async_client(self) -> "AsyncClient":
        """The same, for asyncio."""
        return self.surroundings.connect_async(self.server, self.options.timeout_s)

    def now_ms(self) -> int:
        return self.surroundings.now_ms()

    def pause(self, duration_s: float) -> None:
        """Wait so many seconds."""
        self.surroundings.pause(duration_s)

    def _plain(self, url: str, source: str) -> Server:
        token = self.options.token or self.surroundings.environment.get("ACKLOG_TOKEN") or None
        checked = checked_url(url, source)
        return Server(checked, token, source, files=self._files(checked, NO_FILES))

    def _of_profile(self, name: str, source: str) -> Server:
        profile = self.profiles.get(name)
        own_token = self.options.token or self.profiles.token(name)
        token = own_token or self.surroundings.environment.get("ACKLOG_TOKEN") or None
        url = checked_url(profile.server, f"profile {name!r}")
        return Server(url, token, source, name, self._files(url, profile.files))

    @property
    def given_files(self) -> ServerFiles:
        """What the options say."""
        return ServerFiles(self.options.ca_file, self.options.certificate_file, self.options.key_file)

    def _files(self, url: str, of_profile: ServerFiles) -> ServerFiles:
        """A profile's are for the profile's server only, the environment's for any that is called by https. Raises
        UsageError."""
        self.given_files.check(url)
        if not url.startswith("https:"):
            return NO_FILES
        return self.given_files.over(of_profile).over(ServerFiles.of_environment(self.surroundings.environment))


def checked_url(url: str, source: str) -> str:
    """The URL without a slash at its end. Raises UsageError for what cannot be a server's."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment:
        hint = f"Write it as {DEFAULT_SERVER}."
        near = (f"http://{url}",) if "://" not in url and url else ()
        raise UsageError(f"{url!r} is not a server's address", field=source, near=near, hint=hint)
    return url.rstrip("/")


def session_of(context: typer.Context) -> Session:
    """The session of a command's context."""
    session = context.find_object(Session)
    assert session is not None, "a command runs inside a session"
    return session
