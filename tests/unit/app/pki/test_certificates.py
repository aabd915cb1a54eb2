"""What certificates say, field by field, and what is refused before one is signed."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from acklog.wire.limits import NODE_ID_MAX
from app.configuration.node_process_settings import NODE_ID_MAX as NODE_ID_OF_PROCESSES_MAX
from app.pki.authority import AUTHORITY_DAYS_MAX, SERIAL_BITS, new_authority, serial_of
from app.pki.certificate_file import CertificateFileError, read_certificate, read_x509
from app.pki.certificate_order import CERTIFICATE_DAYS_MAX, CertificateOrder, issue
from app.pki.certificate_subject import CertificateKind, CertificateSubject, subject_of_stem
from app.pki.pki_error import PkiError
from app.pki.private_key import new_private_key, read_private_key
from tests.support.own_authority import DAY_MS, made_authority, pem_of, signed, subject

NOW_MS = 1_800_000_000_123
SECOND_MS = 1000
MINUTES_MS = 60_000


class TestWhatACertificateSays:
    def test_whom_it_is_for_and_how_long(self) -> None:
        authority = made_authority(now_ms=NOW_MS)
        pem, _ = signed(authority, subject("node", "1"), hosts=("node-1.example.org", "10.0.0.7"), now_ms=NOW_MS)
        found = read_certificate(pem)
        assert found.identities == ("acklog://node/1",)
        assert found.hosts == ("node-1.example.org", "10.0.0.7")
        assert (found.subject, found.issuer) == ("node-1", authority.name)
        begins_ms = NOW_MS // SECOND_MS * SECOND_MS
        assert found.not_before_ms == begins_ms - 5 * MINUTES_MS
        assert found.not_after_ms == begins_ms + 90 * DAY_MS

    def test_its_extensions(self) -> None:
        authority = made_authority(now_ms=NOW_MS)
        [made] = read_x509(signed(authority, subject("gateway"), now_ms=NOW_MS)[0])
        of = {each.oid: each for each in made.extensions}
        assert of[x509.BasicConstraints.oid].critical
        assert of[x509.KeyUsage.oid].critical
        assert not of[x509.BasicConstraints.oid].value.ca
        assert of[x509.KeyUsage.oid].value.digital_signature
        assert not of[x509.KeyUsage.oid].value.key_cert_sign
        own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        assert of[x509.AuthorityKeyIdentifier.oid].value.key_identifier == own.digest
        assert isinstance(made.public_key(), ec.EllipticCurvePublicKey)
        assert made.signature_hash_algorithm is not None
        assert made.signature_hash_algorithm.name == "sha256"

    @pytest.mark.parametrize(
        ("holder", "uri", "is_server", "is_client"),
        [
            (subject("node", "12"), "acklog://node/12", True, True),
            (subject("gateway"), "acklog://gateway", True, True),
            (subject("gateway", "east"), "acklog://gateway", True, True),
            (subject("server"), "acklog://server", True, True),
            (subject("client", "orders"), "acklog://client/orders", False, True),
            (subject("etcd", "a"), "acklog://etcd/a", True, True),
        ],
    )
    def test_what_each_kind_may_do(
        self, holder: CertificateSubject, uri: str, is_server: bool, is_client: bool
    ) -> None:
        [made] = read_x509(signed(made_authority(), holder)[0])
        purposes = list(made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        assert holder.uri == uri
        assert (ExtendedKeyUsageOID.SERVER_AUTH in purposes) is is_server
        assert (ExtendedKeyUsageOID.CLIENT_AUTH in purposes) is is_client

    def test_an_authority_signs_no_others(self) -> None:
        made = made_authority().certificate
        constraints = made.extensions.get_extension_for_class(x509.BasicConstraints)
        usage = made.extensions.get_extension_for_class(x509.KeyUsage)
        assert (constraints.value.ca, constraints.value.path_length, constraints.critical) == (True, 0, True)
        assert (usage.value.key_cert_sign, usage.value.digital_signature, usage.critical) == (True, False, True)

    def test_two_authorities_have_two_names(self) -> None:
        assert made_authority().name != made_authority().name

    @pytest.mark.parametrize("random_bits", [0, 1, (1 << SERIAL_BITS) - 1, 1 << 300])
    def test_serial_numbers_are_never_nothing_and_never_too_long(self, random_bits: int) -> None:
        assert 1 << SERIAL_BITS <= serial_of(random_bits) < 1 << 159


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            *(("node", name) for name in ("", "0", "01", "-1", "1.0", "one", "1000001", "9" * 5000, "1 ", "١")),
            *(("client", name) for name in ("", "a b", "../a", "-a", "a" * 49, "a\n", "ä", "orders-key", "key")),
            ("gateway", "key"),
            ("server", "a-key"),
        ],
    )
    def test_names(self, kind: str, name: str) -> None:
        with pytest.raises(PkiError) as refused:
            subject(kind, name)
        assert refused.value.field == ("ID" if kind == "node" else "NAME")

    @pytest.mark.parametrize("days", [0, -1, CERTIFICATE_DAYS_MAX + 1])
    def test_days(self, days: int) -> None:
        with pytest.raises(PkiError, match="days are not 1 to 3650") as refused:
            CertificateOrder(subject("client", "a"), (), days)
        assert refused.value.field == "--days"

    @pytest.mark.parametrize("days", [0, AUTHORITY_DAYS_MAX + 1])
    def test_days_of_an_authority(self, days: int) -> None:
        with pytest.raises(PkiError, match="days are not 1 to 36500"):
            made_authority(days=days)

    @pytest.mark.parametrize("name", ["", " ", "a" * 51, "a\nb", "ä"])
    def test_names_of_an_authority(self, name: str) -> None:
        with pytest.raises(PkiError, match="is no name"):
            new_authority(name, key=new_private_key(), random_bits=1, now_ms=NOW_MS, days=1)

    def test_a_server_without_hosts_and_a_client_with_one(self) -> None:
        with pytest.raises(PkiError, match="node-1 needs a host"):
            CertificateOrder(subject("node", "1"), (), 90)
        with pytest.raises(PkiError, match="called by nobody"):
            CertificateOrder(subject("client", "a"), ("localhost",), 90)

    def test_to_outlive_the_authority(self) -> None:
        authority = made_authority(now_ms=NOW_MS, days=90)
        order = CertificateOrder(subject("client", "a"), (), 90)
        issue(order, authority, key=new_private_key(), random_bits=1, now_ms=NOW_MS)
        with pytest.raises(PkiError, match="ends on 2027-04-15, before client-a would") as refused:
            order.check_end(authority, now_ms=NOW_MS + 1000)
        assert refused.value.hint.startswith("Give up to 89 days")
        with pytest.raises(PkiError, match="ended at 2027-04-15 08:00 UTC"):
            order.check_end(authority, now_ms=NOW_MS + 90 * DAY_MS)


def test_every_node_that_may_be_may_have_a_certificate() -> None:
    assert NODE_ID_MAX == NODE_ID_OF_PROCESSES_MAX
    assert subject("node", str(NODE_ID_MAX)).uri == f"acklog://node/{NODE_ID_MAX}"


class TestFiles:
    @pytest.mark.parametrize(
        ("pem", "says"),
        [
            (b"", "no certificate in PEM, but nothing"),
            (b"hello", "but something else"),
            (b"-----BEGIN PRIVATE KEY-----", "but a private key"),
            (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is damaged"),
            (b"-----BEGIN CERTIFICATE-----\n", "is damaged"),
            (b"-----BEGIN CERTIFICATE-----" * 1001, "1001 certificates, more than 1000"),
        ],
    )
    def test_that_hold_no_certificate(self, pem: bytes, says: str) -> None:
        with pytest.raises(CertificateFileError, match=says):
            read_certificate(pem)

    def test_the_first_certificate_is_the_holder_s(self) -> None:
        authority = made_authority()
        found = read_certificate(b"# a comment\n" + signed(authority)[0] + pem_of(authority))
        assert found.subject == "server"

    def test_that_hold_no_key(self) -> None:
        rsa_key = rsa.generate_private_key(65537, 2048)
        locked = rsa_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
        plain = rsa_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        for pem, says in ((b"", "no private key"), (locked, "is encrypted"), (plain, "none of an elliptic curve")):
            with pytest.raises(PkiError, match=says):
                read_private_key(pem)

    @pytest.mark.parametrize("stem", ["node-1", "gateway", "gateway-east", "client-a.b_c", "etcd-a-b", "server"])
    def test_names_of_files_say_whose_they_are(self, stem: str) -> None:
        found = subject_of_stem(stem)
        assert found is not None
        assert found.file_stem == stem

    @pytest.mark.parametrize("stem", ["ca", "node", "node-x", "client-a-key", "gateway-key", "other-a", "", "NODE-1"])
    def test_names_of_other_files(self, stem: str) -> None:
        assert subject_of_stem(stem) is None

    def test_every_kind_is_found_by_its_file(self) -> None:
        for kind in CertificateKind:
            holder = CertificateSubject(kind, "7")
            assert subject_of_stem(holder.file_stem) == holder
