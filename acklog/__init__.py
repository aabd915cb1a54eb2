"""Acklog: what a user imports and runs. The wire formats shared with the server live in `acklog.wire`.

Names are imported when they are first asked for. The command begins with this package, too, and a server heeds signals
before anything of it is loaded (`acklog.command.early_end`).
"""

from acklog.version import __version__

TYPE_CHECKING = False  # to mypy it is true; `typing` itself takes long to import
if TYPE_CHECKING:
    from acklog.client.async_client import AsyncClient
    from acklog.client.client import Client
    from acklog.errors import AcklogError
    from acklog.members import TopicPartition
    from acklog.messages import (
        GroupState,
        LookedAt,
        Message,
        OutgoingMessage,
        Received,
        RecordsPage,
        Sent,
        Settled,
        StoredMessage,
        raise_for_failures,
    )

__all__ = [
    "AcklogError",
    "AsyncClient",
    "Client",
    "GroupState",
    "LookedAt",
    "Message",
    "OutgoingMessage",
    "Received",
    "RecordsPage",
    "Sent",
    "Settled",
    "StoredMessage",
    "TopicPartition",
    "__version__",
    "raise_for_failures",
]

_MODULES = {"AcklogError": "errors", "AsyncClient": "client.async_client", "Client": "client.client"}
_MODULES["TopicPartition"] = "members"


if not TYPE_CHECKING:  # or any name would be one to mypy

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name in __all__:
            found: object = getattr(import_module(f"acklog.{_MODULES.get(name, 'messages')}"), name)
            globals()[name] = found
            return found
        try:
            return import_module(
                f"acklog.{name}"
            )  # as `acklog.errors` of a program that says no more than `import acklog`
        except ModuleNotFoundError as error:
            if error.name != f"acklog.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
