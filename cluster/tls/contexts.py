"""What TLS is spoken with, on each side: no version and no cipher that anybody has to be warned of."""

import ssl
from enum import Enum

from cluster.tls.tls_files import TlsFiles, TlsFilesError

CIPHERS_OF_TLS_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Forward secret and authenticated, and nothing else; TLS 1.3 has no others."""
HTTP_1_1 = "http/1.1"


class ClientCertificates(Enum):
    """Of those who connect: not asked for; looked at where there is one; or nobody gets in without."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


_VERIFY = {
    ClientCertificates.NONE: ssl.CERT_NONE,
    ClientCertificates.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientCertificates.REQUIRED: ssl.CERT_REQUIRED,
}


def http_server_context(files: TlsFiles, client_certificates: ClientCertificates) -> ssl.SSLContext:
    """For whoever speaks HTTP. Blocks. Raises TlsFilesError."""
    if client_certificates is not ClientCertificates.NONE and not files.authorities:
        raise TlsFilesError("to ask clients for certificates takes a file of the authorities that made them")
    context = _restricted(ssl.PROTOCOL_TLS_SERVER)
    files.load_into(context)
    context.verify_mode = _VERIFY[client_certificates]
    context.set_alpn_protocols([HTTP_1_1])
    return context


def peer_server_context(files: TlsFiles) -> ssl.SSLContext:
    """For the other processes of the cluster, which all have to show a certificate. Blocks. Raises TlsFilesError."""
    context = _restricted(ssl.PROTOCOL_TLS_SERVER)
    files.load_into(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def peer_client_context(files: TlsFiles) -> ssl.SSLContext:
    """To dial them with; who has answered is for whoever dials to see (`cluster.tls.peer_identity`). Blocks. Raises
    TlsFilesError."""
    context = _restricted(ssl.PROTOCOL_TLS_CLIENT)
    # Addresses of a cluster's processes come and go with its machines: identities are URIs, not host names.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    files.load_into(context)
    return context


def _restricted(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS_OF_TLS_1_2)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    return context
