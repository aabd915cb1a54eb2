"""`acklog health`: who is asked, by the settings of the server that runs in the same container."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from app.commands import health
from app.pki.certificate_subject import CertificateKind, CertificateSubject
from tests.support.command_run import CommandRun, run_command
from tests.support.own_authority import TlsFilesOf, made_authority, signed


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()
        self.wfile.write(b'{"path": "%s"}\n' % self.path.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the test's output is its own."""


@contextmanager
def answering(files: TlsFilesOf | None = None, *, wants_clients: bool = False) -> Iterator[int]:
    """The port of a server that is alive, and not ready."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        if files is not None:
            server.socket = files.server_context(wants_clients=wants_clients).wrap_socket(
                server.socket, server_side=True
            )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with answering() as found:
        yield found


@pytest.fixture(scope="module")
def tls_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """By a certificate that nobody here has a reason to believe, for a name that nobody here calls."""
    authority = made_authority()
    files = TlsFilesOf(tmp_path_factory.mktemp("tls")).hold(signed(authority, hosts=("queue.example",)))
    with answering(files) as found:
        yield found


@pytest.fixture(autouse=True)
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says what the first process is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(health, "FIRST_PROCESS", str(tmp_path / "cmdline"))
    return tmp_path / "cmdline"


def command_line(container: Path, *words: str) -> None:
    container.write_bytes("".join(f"{word}\0" for word in words).encode())


def ask(*arguments: str, **environment: str) -> CommandRun:
    return run_command("health", *arguments, environment=environment)


@pytest.mark.parametrize(
    "words",
    [
        ("/opt/acklog/bin/python", "/opt/acklog/bin/acklog", "gateway", "--host", "0.0.0.0", "--insecure"),
        ("/sbin/docker-init", "--", "acklog", "serve"),
    ],
)
def test_the_first_process_says_who_is_asked(container: Path, words: tuple[str, ...], port: int) -> None:
    command_line(container, *words)
    assert ask("--alive", ACKLOG_PORT=str(port)).exit_code == ExitCode.DONE
    assert ask(ACKLOG_PORT=str(port)).exit_code == ExitCode.FAILED


def test_an_option_of_the_first_process_wins_over_its_environment(container: Path, port: int) -> None:
    command_line(container, "python", "acklog", "serve", "--port", str(port))
    assert ask("--alive", ACKLOG_PORT="1").exit_code == ExitCode.DONE


def test_a_node_is_asked_where_it_tells_its_health(container: Path, port: int) -> None:
    command_line(container, "python", "acklog", "node")
    environment = {"ACKLOG_ID": "1", "ACKLOG_HTTP": f"0.0.0.0:{port}"}
    assert ask("--alive", **environment).exit_code == ExitCode.DONE


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("serve", {"ACKLOG_PORT": "{port}", "ACKLOG_PKI": "/etc/acklog/pki"}),
        ("gateway", {"ACKLOG_PORT": "{port}", "ACKLOG_TLS_CERTIFICATE_FILE": "c.pem", "ACKLOG_TLS_KEY_FILE": "k.pem"}),
        ("node", {"ACKLOG_ID": "1", "ACKLOG_HTTP": "0.0.0.0:{port}", "ACKLOG_PKI": "/etc/acklog/pki"}),
    ],
)
def test_who_has_a_certificate_is_asked_by_https(
    container: Path, command: str, environment: dict[str, str], tls_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files themselves are the server's business: a health check needs none of them."""
    command_line(container, "python", "acklog", command)
    told = {name: value.format(port=tls_port) for name, value in environment.items()}
    assert ask("--alive", **told).exit_code == ExitCode.DONE
    assert ask(**told).exit_code == ExitCode.FAILED
    assert capsys.readouterr().out == '{"path": "/healthz"}\n{"path": "/readyz"}\n'


@pytest.fixture
def wary_server(tmp_path: Path) -> Iterator[tuple[int, TlsFilesOf]]:
    """Of one that talks to nobody without a certificate of its authority's: its port and its own files."""
    authority = made_authority()
    certificate = signed(authority, CertificateSubject(CertificateKind.SERVER))
    files = TlsFilesOf(tmp_path / "pki").trust(authority).hold(certificate)
    with answering(files, wants_clients=True) as found:
        yield found, files


def test_who_wants_a_certificate_of_everybody_is_shown_the_servers_own(
    container: Path, wary_server: tuple[int, TlsFilesOf]
) -> None:
    port, files = wary_server
    command_line(container, "python", "acklog", "serve", "--port", str(port))
    told = {"CERTIFICATE_FILE": files.certificate, "KEY_FILE": files.key, "CLIENT_CA_FILE": files.ca}
    environment = {f"ACKLOG_TLS_{name}": str(path) for name, path in told.items()}
    assert ask("--alive", **environment, ACKLOG_TLS_CLIENT_CERTIFICATES="required").exit_code == ExitCode.DONE
    assert ask("--alive", **environment).exit_code == ExitCode.FAILED


def test_where_that_cannot_be_read_it_is_said(container: Path, port: int, capsys: pytest.CaptureFixture[str]) -> None:
    command_line(container, "python", "acklog", "serve", "--pki", "/nowhere", "--port", str(port))
    assert ask(ACKLOG_TLS_CLIENT_CERTIFICATES="required").exit_code == ExitCode.FAILED
    assert "/nowhere/server-key.pem" in capsys.readouterr().out


def test_who_should_speak_https_and_does_not_is_not_well(container: Path, port: int) -> None:
    command_line(container, "python", "acklog", "serve", "--pki", "/etc/acklog/pki", "--port", str(port))
    assert ask("--alive").exit_code == ExitCode.FAILED


def test_which_process_it_is_can_be_said(port: int) -> None:
    assert ask("serve", "--alive", "--", "--port", str(port)).exit_code == ExitCode.DONE


def test_where_nobody_answers_it_is_not_well(container: Path) -> None:
    command_line(container, "python", "acklog", "serve", "--port", "1")
    assert ask().exit_code == ExitCode.FAILED


@pytest.mark.parametrize(
    ("words", "arguments"),
    [(("bash",), ()), (("python", "acklog", "serve", "--port", "0"), ()), ((), ("server",)), ((), ())],
)
def test_where_it_is_not_clear_who_to_ask_that_is_said(
    container: Path, words: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    command_line(container, *words)
    assert ask(*arguments).exit_code == ExitCode.USAGE
