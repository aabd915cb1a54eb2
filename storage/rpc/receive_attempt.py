"""A receive that may be repeated by its id, as it is told to whoever asks."""

import msgspec


class ReceiveAttempt(msgspec.Struct, array_like=True, gc=False):
    """The first receive by an `attempt_id`, by the leader's wall clock."""

    received_at_ms: int
    visibility_ms: int
