"""A value beside each wrapped data key by which its node knows that it has unwrapped that one and no other.

A program that answers wrongly would else have messages acknowledged under a key that nobody has again.
"""

import hmac
from hashlib import sha256

from cluster.model.values import DataKey
from storage.encryption.master_key import MasterKeyError, bound_to


def check_value(plain: bytes, *, topic_id: str, number: int) -> bytes:
    """Says nothing of the key to who does not have it."""
    return hmac.digest(plain, b"acklog-data-key-check " + bound_to(topic_id, number), sha256)


def checked(plain: bytes, data_key: DataKey, *, topic_id: str) -> bytes:
    """`plain`, if it is the data key that was wrapped. Raises MasterKeyError. One that was wrapped before there were
    check values is taken as it is."""
    expected = check_value(plain, topic_id=topic_id, number=data_key.number)
    if data_key.check and not hmac.compare_digest(data_key.check, expected):
        raise MasterKeyError(f"the master key {data_key.master_key} answers another data key than it has wrapped")
    return plain
