"""Bodies that clients encrypt: servers, and whoever looks at what they store, see none of them."""

from acklog.body_encryption.body_encryption import BodyEncryption
from acklog.body_encryption.key_provider import KeyProvider
from acklog.body_encryption.keyring import Keyring

__all__ = ["BodyEncryption", "KeyProvider", "Keyring"]
