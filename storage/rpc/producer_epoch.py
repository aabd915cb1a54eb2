"""Who sends, where it has a name: part of `storage.rpc.messages`."""

import msgspec


class ProducerEpoch(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """Which life of a named producer of the topic; one that was opened again since has a higher epoch. Positional on
    the wire, so fields are only ever added at the end."""

    producer_id: str
    epoch: int
