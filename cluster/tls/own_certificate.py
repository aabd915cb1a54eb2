"""Whether the rest of a cluster would believe a process's own certificate: by a handshake with itself, before its use.

OpenSSL judges there as it will at the others: by time, by purpose, and by the authorities, which all have alike. A
process with another one's certificate would register, be given work, and be refused by all who share that work.
"""

import ssl
from collections.abc import Mapping
from typing import Any

from cluster.tls.contexts import peer_client_context, peer_server_context
from cluster.tls.peer_identity import NOBODY, PeerIdentity, identity_in
from cluster.tls.tls_files import TlsFiles, TlsFilesError

FLIGHTS_MAX = 8
"""TLS 1.2 takes four, and 1.3 three."""


def own_server_context(files: TlsFiles, own: PeerIdentity) -> ssl.SSLContext:
    """`peer_server_context` of the process that is `own`. Blocks. Raises TlsFilesError."""
    context = peer_server_context(files)
    _check(files, own, accepting=context, dialling=peer_client_context(files))
    return context


def own_client_context(files: TlsFiles, own: PeerIdentity) -> ssl.SSLContext:
    """`peer_client_context` of the process that is `own`. Blocks. Raises TlsFilesError."""
    context = peer_client_context(files)
    _check(files, own, accepting=peer_server_context(files), dialling=context)
    return context


def _check(files: TlsFiles, own: PeerIdentity, *, accepting: ssl.SSLContext, dialling: ssl.SSLContext) -> None:
    """Raises TlsFilesError."""
    try:
        shown = identity_in(_shake_hands(accepting, dialling))
    except ssl.SSLCertVerificationError as error:
        what = f"the certificate {files.certificate} would be refused by who believes {files.authorities}"
        raise TlsFilesError(f"{what}: {error.verify_message}") from None
    except ssl.SSLError as error:
        what = f"the certificate {files.certificate} cannot be shown to anybody"
        raise TlsFilesError(f"{what}: {(error.reason or str(error)).lower().replace('_', ' ')}") from None
    if shown != own:
        whose = "nobody in a cluster" if shown == NOBODY else str(shown)
        what = f"the certificate {files.certificate} is that of {whose}, and this is {own}"
        raise TlsFilesError(f"{what}: it needs the URI {own.uri}")


def _shake_hands(accepting: ssl.SSLContext, dialling: ssl.SSLContext) -> Mapping[str, Any] | None:
    """In memory; what was shown. Raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = accepting.wrap_bio(to_server, to_client, server_side=True)
    under_way = [dialling.wrap_bio(to_client, to_server), server]
    for _ in range(FLIGHTS_MAX):
        under_way = [end for end in under_way if not _is_done(end)]
    assert not under_way, "a handshake took more flights than it may"
    return server.getpeercert()


def _is_done(end: ssl.SSLObject) -> bool:
    """Raises ssl.SSLError."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
