"""The calls about topics that are encrypted."""

from acklog.client.call import Call, Request, read_as, segment
from acklog.encryption import EncryptionState

_read_state = read_as(EncryptionState)


def status(topic: str) -> Call[EncryptionState]:
    return Call(Request("GET", f"/topics/{segment(topic)}/encryption"), _read_state)


def rotate(topic: str) -> Call[EncryptionState]:
    return Call(Request("POST", f"/topics/{segment(topic)}/encryption/rotate"), _read_state, is_repeatable=False)
