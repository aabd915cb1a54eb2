"""Why TLS has failed, in words that say what to do. It goes by what the libraries report, without importing them."""

from acklog.errors import TlsFailed

_EXPIRED, _NOT_YET_VALID = 10, 9
_OTHER_NAME = frozenset({62, 64})
_WRONG_PURPOSE = 26
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})
_WANTS_CERTIFICATE = frozenset({"TLSV13_ALERT_CERTIFICATE_REQUIRED"})
_REFUSES_CERTIFICATE = frozenset(
    {
        "TLSV1_ALERT_UNKNOWN_CA",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "TLSV1_ALERT_ACCESS_DENIED",
    }
)
_NO_AGREEMENT = frozenset({"TLSV1_ALERT_PROTOCOL_VERSION", "SSLV3_ALERT_HANDSHAKE_FAILURE", "UNSUPPORTED_PROTOCOL"})
_OWN = "certificate_file and key_file (--certificate-file and --key-file)"


def tls_failure_of(error: BaseException, *, url: str) -> TlsFailed | None:
    """For a failed connection or request to `url`; None where it was not for TLS."""
    cause = _of_tls(error)
    if cause is None:
        return None
    code = getattr(cause, "verify_code", None)
    if code is not None:
        return TlsFailed(_of_certificate(code, str(getattr(cause, "verify_message", "")).rstrip("."), url))
    reason = str(getattr(cause, "reason", "") or "")
    said = _of_reason(reason, url)
    return None if said is None else TlsFailed(said)


def _of_tls(error: BaseException) -> BaseException | None:
    """The library's own error, wherever the HTTP client keeps it."""
    for each in (getattr(error, "certificate_error", None), getattr(error, "os_error", None), error.__cause__, error):
        if isinstance(each, BaseException) and getattr(each, "reason", None) is not None:
            return each
    return None


def _of_certificate(code: int, message: str, url: str) -> str:
    if code == _EXPIRED:
        return f"the certificate of {url}, or of its authority, has expired: it has to be renewed there"
    if code == _NOT_YET_VALID:
        return f"the certificate of {url} is not valid yet: compare the clocks of both machines"
    if code in _OTHER_NAME:
        return (
            f"{url} shows a certificate for other names ({message}): call it by one of those, or have it name this one"
        )
    if code == _WRONG_PURPOSE:
        return f"{url} shows a certificate that is not one for servers"
    return (
        f"{url} shows a certificate that is not trusted ({message}): name the file of the authority that signed it by "
        "ca_file, --ca-file or ACKLOG_CA_FILE"
    )


def _of_reason(reason: str, url: str) -> str | None:
    if reason in _NO_TLS:
        return f"{url} speaks no TLS: if it is a server without it, call it by http{url.removeprefix('https')}"
    if reason in _WANTS_CERTIFICATE:
        return f"{url} wants to know by a certificate who calls: give {_OWN}"
    if reason in _REFUSES_CERTIFICATE:
        return f"{url} refuses the certificate that it was shown ({reason}): look at {_OWN}"
    if reason in _NO_AGREEMENT:
        return f"{url} does not agree about how to encrypt ({reason}): TLS 1.2 or newer is needed, perhaps also {_OWN}"
    return None
