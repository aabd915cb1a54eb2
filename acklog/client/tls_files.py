"""Which files say whom a client trusts and who it is, as PEM: what is given, else what the environment names."""

from collections.abc import Callable
from dataclasses import dataclass

from acklog.errors import InvalidArgument

CA_FILE_VARIABLE = "ACKLOG_CA_FILE"
CERTIFICATE_FILE_VARIABLE = "ACKLOG_CERTIFICATE_FILE"
KEY_FILE_VARIABLE = "ACKLOG_KEY_FILE"
_SECURE = "https:"


@dataclass(frozen=True, slots=True)
class ClientTlsFiles:
    """Paths. Without a `ca_file` the system's authorities are trusted; `certificate_file` and `key_file` are for
    servers that ask who calls, and go together. Raises InvalidArgument where one is without the other."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    def __post_init__(self) -> None:
        if self.certificate_file and not self.key_file:
            raise InvalidArgument("is needed with certificate_file: a certificate's private key", field="key_file")
        if self.key_file and not self.certificate_file:
            raise InvalidArgument("is needed with key_file: the key's certificate", field="certificate_file")

    def given(self) -> dict[str, str]:
        """By name, those that there are."""
        named = {"ca_file": self.ca_file, "certificate_file": self.certificate_file, "key_file": self.key_file}
        return {name: path for name, path in named.items() if path}


def given_or_found_files(url: str, given: ClientTlsFiles, variable: Callable[[str], str]) -> ClientTlsFiles | None:
    """What a client of that URL goes by; None where the system's authorities and no certificate do.

    Certificate and key are one thing: where they are given by hand the environment is asked for neither. Files for a
    server that is called by http are refused when they were given by hand, since who gives them believes that nobody
    listens; the environment's are for whichever servers are called by https. Raises InvalidArgument.
    """
    if not url.startswith(_SECURE):
        for name in given.given():
            raise InvalidArgument(f"is for https, and {url} would be called without encryption", field=name)
        return None
    own_certificate, own_key = given.certificate_file, given.key_file
    if own_certificate is None and own_key is None:
        own_certificate, own_key = variable(CERTIFICATE_FILE_VARIABLE), variable(KEY_FILE_VARIABLE)
    ca_file = variable(CA_FILE_VARIABLE) if given.ca_file is None else given.ca_file
    found = ClientTlsFiles(ca_file or None, own_certificate or None, own_key or None)
    return found if found.given() else None
