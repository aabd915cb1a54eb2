"""Why a start without etcd fails, as far as one can know: etcd hangs up on who shows no certificate that it trusts."""

import pytest

from app.configuration.etcd_options import EtcdOptions
from app.processes.etcd_connection import not_reached

REASON = ValueError("no connection to 127.0.0.1:2379")
CLEAR = EtcdOptions(etcd="http://127.0.0.1:2379")
BARE = EtcdOptions(etcd="https://127.0.0.1:2379", etcd_ca_file="ca.pem")
SHOWN = EtcdOptions(
    etcd="https://127.0.0.1:2379", etcd_ca_file="ca.pem", etcd_certificate_file="own.pem", etcd_key_file="own-key.pem"
)


@pytest.mark.parametrize(
    ("options", "says", "says_not"),
    [
        (CLEAR, "Is it running, and is --etcd right?", "certificate"),
        (BARE, "if it asks who calls (--client-cert-auth), give --etcd-certificate-file", "own.pem"),
        (BARE, "--etcd-ca-file (ca.pem) of who signed etcd's certificate", "own.pem"),
        (SHOWN, "does it trust the certificate of --etcd-certificate-file (own.pem)", "--client-cert-auth"),
    ],
)
def test_what_to_look_at(options: EtcdOptions, says: str, says_not: str) -> None:
    text = str(not_reached(options, REASON))
    assert text.startswith(f"etcd cannot be reached at {options.etcd}: {REASON}.")
    assert says in text
    assert says_not not in text
