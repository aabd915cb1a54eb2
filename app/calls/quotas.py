"""What a quota may be, as it is asked for."""

from typing import Annotated

from msgspec import Meta

from acklog.wire.limits import QUOTA_PER_SECOND_MAX

PerSecond = Annotated[int, Meta(ge=1, le=QUOTA_PER_SECOND_MAX)]
"""0 would stop everything: that is what pausing a group is for, or taking a token's right away."""
