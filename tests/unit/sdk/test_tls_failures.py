"""What other servers than ours say when TLS fails, in their alerts."""

import ssl

import pytest

from acklog.client.retry import is_outcome_unknown, may_repeat
from acklog.client.tls_failures import tls_failure_of
from acklog.errors import TlsFailed

URL = "https://queue.example"


def failed_for(reason: str | None) -> OSError:
    """As aiohttp raises it: the library's error is its cause."""
    cause = ssl.SSLError(1, "[SSL] alert")
    cause.reason = reason  # type: ignore[assignment]
    try:
        raise OSError(1, "it failed") from cause
    except OSError as error:
        return error


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "wants to know by a certificate who calls"),
        ("TLSV1_ALERT_UNKNOWN_CA", "refuses the certificate that it was shown"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "refuses the certificate that it was shown"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "TLS 1.2 or newer is needed"),
        ("WRONG_VERSION_NUMBER", "call it by http://queue.example"),
    ],
)
def test_alerts(reason: str, says: str) -> None:
    failure = tls_failure_of(failed_for(reason), url=URL)
    assert failure is not None
    assert says in failure.detail
    assert failure.code == "TLS_FAILED"


@pytest.mark.parametrize("reason", [None, "DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "UNEXPECTED_EOF_WHILE_READING"])
def test_what_breaks_a_connection_is_nothing_of_that(reason: str | None) -> None:
    """What was sent before may have taken effect."""
    assert tls_failure_of(failed_for(reason), url=URL) is None
    assert tls_failure_of(ConnectionResetError(), url=URL) is None


def test_it_may_be_tried_again_and_nothing_was_done() -> None:
    assert not is_outcome_unknown(TlsFailed("no"))
    assert may_repeat(TlsFailed("no"), is_repeatable=False)
