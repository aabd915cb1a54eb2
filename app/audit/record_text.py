"""Records as they are stored, and back."""

import re

import msgspec

from app.audit.audit_record import AuditRecord

_TOKEN = re.compile(rb"(ak_[0-9a-z]{13})_[0-9a-z]{52}")
"""A stored token as a client shows it. One may stand where a name should be, by mistake."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AuditRecord)


def encode_record(record: AuditRecord) -> bytes:
    return _TOKEN.sub(rb"\1_...", _encoder.encode(record))


def decode_record(text: bytes) -> AuditRecord | None:
    """None for what a newer version wrote and this one does not understand."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, ValueError):
        return None
