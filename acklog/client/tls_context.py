"""What a connection by TLS is made with, from files in PEM: TLS 1.2 or newer, and names are always checked.

What a file lacks is said in terms of the file: the messages of the library underneath name neither it nor the remedy.
"""

import ssl
from pathlib import Path

from acklog.client.tls_files import ClientTlsFiles
from acklog.errors import InvalidArgument

FILE_BYTES_MAX = 16 * 1024 * 1024
_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"
_OTHER_KEY = "KEY_VALUES_MISMATCH"


class _KeyIsEncrypted(Exception):  # noqa: N818
    """Nobody is there to be asked for a password."""


def context_of(files: ClientTlsFiles) -> ssl.SSLContext:
    """Raises InvalidArgument, with the file that is at fault as its field."""
    for name, path in files.given().items():
        _check(name, path, _KEY if name == "key_file" else _CERTIFICATE)
    context = _trusting(files.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if files.certificate_file:
        _show(context, files.certificate_file, files.key_file)
    return context


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    """That authority alone, or all of the system's."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (ssl.SSLError, OSError) as error:
        raise InvalidArgument(f"{ca_file} holds no certificates that can be read: {error}", field="ca_file") from None


def _show(context: ssl.SSLContext, certificate_file: str, key_file: str | None) -> None:
    def refuse() -> str:
        raise _KeyIsEncrypted

    try:
        context.load_cert_chain(certificate_file, key_file, password=refuse)
    except _KeyIsEncrypted:
        detail = f"{key_file} is encrypted, and there is nobody to ask for its password: give one that is not"
        raise InvalidArgument(detail, field="key_file") from None
    except ssl.SSLError as error:
        if error.reason == _OTHER_KEY:
            detail = f"{key_file} is not the key of the certificate in {certificate_file}"
            raise InvalidArgument(detail, field="key_file") from None
        detail = f"{certificate_file} and {key_file} cannot be used: {error.reason or error}"
        raise InvalidArgument(detail, field="certificate_file") from None
    except OSError as error:  # it was there a moment ago
        detail = f"{certificate_file} or {key_file} cannot be read: {error.strerror or error}"
        raise InvalidArgument(detail, field="certificate_file") from None


def _check(name: str, path: str, marker: bytes) -> None:
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise InvalidArgument(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}", field=name
        ) from None
    if len(content) > FILE_BYTES_MAX:
        raise InvalidArgument(f"{path} has more than {FILE_BYTES_MAX} bytes", field=name)
    if marker not in content:
        what = "private key" if marker == _KEY else "certificate"
        raise InvalidArgument(f"{path} holds no {what} in PEM", field=name)
