"""Whether acts and refusals are recorded."""

from enum import Enum


class AuditMode(Enum):
    OFF = "off"
    ON = "on"  # an act is done also where its record has to wait
    REQUIRED = "required"  # an act is done only once it is recorded that it is intended


def audit_mode_of(setting: str, *, asks_for_tokens: bool) -> AuditMode:
    """Where nobody is asked who they are, there is little to record: then it takes a word."""
    if setting:
        return AuditMode(setting)
    return AuditMode.ON if asks_for_tokens else AuditMode.OFF
