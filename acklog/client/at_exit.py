"""What is still open when the program ends is closed then, the newest first: what a producer has buffered is sent."""

import atexit
import logging
import os
from typing import Protocol
from weakref import ReferenceType, ref

_logger = logging.getLogger("acklog")


class Closable(Protocol):
    def close(self) -> None: ...


_open: "dict[int, ReferenceType[Closable]]" = {}
_numbers = iter(range(1 << 62))


def close_at_exit(resource: Closable) -> int:
    """Close `resource` at the end of the program if it is still there. The number is for `closed`."""
    number = next(_numbers)
    _open[number] = ref(resource, lambda _gone: _open.pop(number, None))
    return number


def closed(number: int) -> None:
    """It is closed already."""
    _open.pop(number, None)


@atexit.register
def _close_all() -> None:
    for number in sorted(_open, reverse=True):
        reference = _open.pop(number, None)
        resource = reference() if reference is not None else None
        if resource is not None:
            try:
                resource.close()
            except Exception as error:
                # Nobody is left to catch it.
                _logger.error("%s", error)


# What was open before a fork belongs to the parent.
os.register_at_fork(after_in_child=_open.clear)
