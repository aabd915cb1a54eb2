"""AES-256-GCM, where the library for it is installed."""

from acklog.errors import InvalidArgument

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ModuleNotFoundError as error:
    raise InvalidArgument('encrypting bodies takes a library: pip install "acklog[encryption]"') from error

__all__ = ["AESGCM", "KEY_BYTES", "NONCE_BYTES", "TAG_BYTES", "InvalidTag"]

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
