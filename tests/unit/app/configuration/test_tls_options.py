"""Which options of TLS go together."""

import pytest

from app.configuration.setting_error import SettingsError
from app.configuration.tls_options import TlsOptions

BESIDE = [
    {"pki": "pki"},
    {"tls_certificate_file": "own.pem", "tls_key_file": "own-key.pem", "tls_client_ca_file": "ca.pem"},
]


@pytest.mark.parametrize("files", BESIDE)
@pytest.mark.parametrize("client_certificates", ["none", "optional"])
def test_http_may_be_taken_beside_https(files: dict[str, str], client_certificates: str) -> None:
    options = TlsOptions(**files, tls_client_certificates=client_certificates, tls_accept_clear=True)
    assert options.tls_accept_clear


@pytest.mark.parametrize("files", BESIDE)
def test_where_nobody_gets_in_without_a_certificate_http_is_not_taken(files: dict[str, str]) -> None:
    """Whoever has none would call by http."""
    assert not TlsOptions(**files, tls_client_certificates="required").tls_accept_clear
    with pytest.raises(SettingsError, match="tls_accept_clear"):
        TlsOptions(**files, tls_client_certificates="required", tls_accept_clear=True)
