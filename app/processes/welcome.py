"""What a server says first: where it listens, and calls that can be pasted."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from app.configuration.loopback import is_loopback
from app.configuration.server_settings import Settings
from app.configuration.tls_options import TlsOptions
from app.http.protocol.server import url_of
from app.http.protocol.web_guard import guard_of
from app.processes.required_tokens import asks_for_tokens
from cluster.tls.contexts import ClientCertificates

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where one calls who listens on all addresses."""


@dataclass(frozen=True, slots=True)
class ServerWelcome:
    """`tls` is complete; `hosts` are those of its certificate."""

    settings: Settings
    tls: TlsOptions
    hosts: Sequence[str] = ()

    @classmethod
    def of(cls, settings: Settings, tls: TlsOptions) -> "ServerWelcome":
        """Reads the certificate, which blocks."""
        return cls(settings, tls, _hosts_in(tls.tls_certificate_file) if tls.is_on else ())

    def text(self, port: int) -> str:
        url = url_of(self.settings.host, port, scheme=self._scheme)
        curl, called = self._call(port)
        lines = [
            f"Acklog listens on {url} (documentation: {url}/docs)",
            f"Acklog stores in  {self.settings.data_dir}",
            "",
            self._invitation(port),
            f"""  {curl} {called}/messages -d '{{"queue": "orders", "body": {{"order": 1}}}}'""",
            f"""  {curl} '{called}/messages?queue=orders&waitSeconds=5'""",
            f"""  {curl} {called}/ack -d '{{"receipt": "PASTE THE RECEIPT HERE"}}'""",
        ]
        return "\n".join(lines) + "\n"

    def _invitation(self, port: int) -> str:
        """Says what is missing where the calls below would be refused. The certificate's names are not served by
        themselves: it may have many, and http may be taken beside https, where no browser looks at it. Which of them
        lead here is for the operator to say."""
        guard = guard_of(
            listens_on=self.settings.host,
            allowed_hosts=self.settings.allowed_hosts,
            has_tokens=asks_for_tokens(self.settings),
        )
        host = _host_and_port(self._name, port).encode()
        if guard is None or guard.fault(b"POST", b"/messages", host=host, origin=None, fetch_site=None) is None:
            return "Try it:"
        return (
            f"It is not served as {self._name}, the name in its certificate: without tokens it is served by\n"
            "names of this machine alone, against web pages that lead here. Start it with\n"
            f"--allowed-hosts {self._name} and try it:"
        )

    @property
    def _address(self) -> str:
        return _EVERYWHERE.get(self.settings.host, self.settings.host)

    @property
    def _name(self) -> str:
        """By which the calls name it."""
        return _name(self.settings.host, self._address, self.hosts)

    @property
    def _scheme(self) -> str:
        return "https" if self.tls.is_on else "http"

    def _call(self, port: int) -> tuple[str, str]:
        """The command without its URL, and the URL that it is for."""
        words = ["curl -sS"]
        listening, address, name = self.settings.host, self._address, self._name
        if self.tls.pki and self.tls.tls_certificate_file.startswith(f"{self.tls.pki}/"):
            words.append(f"--cacert {shlex.quote(f'{self.tls.pki}/ca.pem')}")
        if self.tls.is_on and self.tls.client_certificates is ClientCertificates.REQUIRED:
            words.append("--cert CERTIFICATE --key KEY")
        if name not in {listening, address} and not (name == "localhost" and is_loopback(address)):
            # The certificate's name leads to where clients are to go, which need not be here.
            words.append(f"--connect-to {_host_and_port(name, port)}:{_host_and_port(address, port)}")
        if asks_for_tokens(self.settings):
            words.append("-H 'Authorization: Bearer TOKEN'")
        return " ".join(words), url_of(name, port, scheme=self._scheme)


def _name(listening: str, address: str, hosts: Sequence[str]) -> str:
    """By which the server is called: one that its certificate has, where it has one that can be said."""
    named = [each for each in hosts if not each.startswith("*")]
    if not named or listening in named:
        return listening
    if is_loopback(address) and "localhost" in named:
        return "localhost"
    return address if address in named else named[0]


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _hosts_in(path: str) -> tuple[str, ...]:
    """None of what OpenSSL takes and this cannot read: then the address is as good as any name."""
    # Loaded here: a server without certificates has no use for a library that takes a tenth of its start.
    from app.pki.certificate_file import CertificateFileError, read_certificate

    try:
        with open(path, "rb") as file:
            return read_certificate(file.read()).hosts
    except (OSError, CertificateFileError):
        return ()
