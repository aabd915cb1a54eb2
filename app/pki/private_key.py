"""Private keys: P-256, in PKCS #8, unencrypted, since servers start without a person."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509 import Certificate as X509Certificate

from app.pki.pki_error import PkiError


def new_private_key() -> ec.EllipticCurvePrivateKey:
    """Its entropy is the operating system's: there is no other way to a key that nobody guesses."""
    return ec.generate_private_key(ec.SECP256R1())


def pem_of_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_private_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Raises PkiError for what is no such key. The text holds nothing of it."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise PkiError("the private key is encrypted, and there is nobody to ask for its password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise PkiError("it holds no private key in PEM") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise PkiError("the private key is none of an elliptic curve, as acklog pki makes them")
    return key


def is_key_of(key: ec.EllipticCurvePrivateKey, certificate: X509Certificate) -> bool:
    """Whether the certificate speaks of this key."""
    own, certified = (
        each.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for each in (key.public_key(), certificate.public_key())
    )
    return own == certified
