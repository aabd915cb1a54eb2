"""What a body changes of the settings of a topic or a group."""

from typing import TypeVar

import msgspec
from msgspec import UNSET

_Settings = TypeVar("_Settings", bound=msgspec.Struct)


def applied(changes: msgspec.Struct, settings: _Settings, *, defaults: _Settings) -> _Settings:
    """The settings with what is named in `changes`. Null stands for the default, as a client has no other word for it
    where the default is to have none."""
    named = {name: value for name in changes.__struct_fields__ if (value := getattr(changes, name)) is not UNSET}
    replaced = {name: getattr(defaults, name) if value is None else value for name, value in named.items()}
    return msgspec.structs.replace(settings, **replaced)
