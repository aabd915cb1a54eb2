"""`acklog health`: whether the server of this container serves. An image has no curl, and needs none."""

import http.client
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import UsageError
from acklog.command.session import session_of
from app.commands.process_configuration import configure_here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.configuration.configured_process import ConfiguredProcess
    from app.configuration.tls_options import TlsOptions

TIMEOUT_SECONDS = 3
ANSWER_BYTES_MAX = 4096
FIRST_PROCESS = "/proc/1/cmdline"
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_NAMES = {"serve": "server", "gateway": "gateway"}
"""What the files of each are called in a directory of `acklog pki`."""


class _Address(NamedTuple):
    """`tls`, complete, where it is called by https; None: by http."""

    host: str
    port: int
    tls: "TlsOptions | None"


_PROCESS = typer.Argument(metavar="[PROCESS]", help="serve, node or gateway; without it what the first process runs.")
_ARGUMENTS = typer.Argument(metavar="[-- OPTIONS]", help="Options as that command got them: -- --port 9000.")


def health(
    context: typer.Context,
    process: Annotated[str | None, _PROCESS] = None,
    arguments: Annotated[list[str] | None, _ARGUMENTS] = None,
    is_alive: Annotated[bool, typer.Option("--alive", help="Ask whether it answers at all, not whether it serves.")] = (
        False
    ),
) -> None:
    """Ask the server that runs here whether it serves; exit code 0: it does, 1: it does not.

    For the health checks of containers: the address comes from the same settings as the server's, with the options of
    the container's first process.
    """
    session = session_of(context)
    name, options = (process, arguments or []) if process else _of_first_process()
    address = _address(name, session.surroundings.environment, options)
    path = "/healthz" if is_alive else "/readyz"
    status, text = _ask(address, path)
    sys.stdout.write(f"{text.strip()}\n")
    if status != 200:
        raise typer.Exit(ExitCode.FAILED)


def _of_first_process() -> tuple[str, list[str]]:
    """Which server the container's first process is, or starts: an init may stand before it. Raises UsageError."""
    from app.configuration.configured_process import PROCESSES

    try:
        words = Path(FIRST_PROCESS).read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        words = []
    found = next((at for at, word in enumerate(words) if at and word in PROCESSES), None)
    if found is None:
        raise UsageError("the first process here is no server of Acklog", hint="Say which runs: acklog health serve.")
    return words[found], words[found + 1 :]


def _address(name: str, environment: "Mapping[str, str]", options: "Sequence[str]") -> _Address:
    """Raises UsageError."""
    from app.configuration.configured_process import PROCESSES
    from app.configuration.setting_error import SettingsError

    if name not in PROCESSES:
        raise UsageError(f"there is no process {name!r}", hint=f"It may be {', '.join(PROCESSES)}.")
    try:
        host, port, tls = _listens_on(name, configure_here(name, environment, options))
    except SettingsError as error:
        raise UsageError(str(error)) from None
    if not port:
        raise UsageError("the server was told to take any free port, so nobody knows where it listens")
    return _Address(_EVERY_ADDRESS.get(host, host), port, tls)


def _listens_on(command: str, process: "ConfiguredProcess") -> _Address:
    from app.configuration.node_options import NodeOptions
    from app.configuration.server_settings import Settings
    from app.configuration.tls_options import TlsOptions, completed

    told = process.loaded.make(TlsOptions)
    if NodeOptions in process.sources.kinds:
        options = process.loaded.make(NodeOptions)
        (host, port), name = options.http_address, f"node-{options.id}"
    else:
        settings = process.loaded.make(Settings)
        host, port, name = settings.host, settings.port, _NAMES[command]
    tls = completed(told, name)
    return _Address(host, port, tls if tls.is_on else None)


def _ask(address: _Address, path: str) -> tuple[int, str]:
    """The status, 0 without an answer, and what was said."""
    host, port, tls = address
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        if tls is not None:
            connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=_context(tls))
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(ANSWER_BYTES_MAX).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        return 0, f"no answer from {host}:{port}: {error}"
    finally:
        connection.close()


def _context(tls: "TlsOptions") -> ssl.SSLContext:
    """Nothing is told the server, and nothing is believed but that somebody answers on a port of this machine: whom the
    certificate names does not matter, and its hosts are those that others call. Where clients are asked for a
    certificate, ours is the server's own. Raises TlsFilesError (a ValueError)."""
    from cluster.tls.contexts import ClientCertificates
    from cluster.tls.tls_files import TlsFiles

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if tls.client_certificates is not ClientCertificates.NONE:
        TlsFiles(tls.tls_certificate_file, tls.tls_key_file).load_into(context)
    return context
