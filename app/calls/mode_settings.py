"""Settings that mean something in groups of some modes only."""

from msgspec import UNSET

from acklog.wire.problems import ProblemCode
from app.calls.groups import GroupSettingsFields
from cluster.errors import ServerError
from cluster.model.values import Exhausted, GroupMode, GroupSettings

_MODES_OF: dict[str, tuple[GroupMode, ...]] = {
    "max_in_flight_per_consumer": (GroupMode.SHARED, GroupMode.KEY_ORDERED),
    "max_in_flight_per_key": (GroupMode.SHARED,),
    "fair_by": (GroupMode.SHARED,),
    "fair_by_header": (GroupMode.SHARED,),
    "max_in_flight_per_header": (GroupMode.SHARED,),
    "session_timeout_ms": (GroupMode.EXCLUSIVE,),
    "rebalance_timeout_ms": (GroupMode.EXCLUSIVE,),
    "assignor": (GroupMode.EXCLUSIVE,),
}
_ORDERED = (GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE)
_DEFAULTS = GroupSettings()


def check_mode_settings(fields: GroupSettingsFields, mode: GroupMode) -> None:
    """Null and the default are what groups of every mode have. Raises ServerError INVALID_FIELD."""
    for name, modes in _MODES_OF.items():
        if getattr(fields, name) not in {UNSET, None, getattr(_DEFAULTS, name)} and mode not in modes:
            field = fields.__struct_encode_fields__[fields.__struct_fields__.index(name)]
            raise _not_in(mode, modes, "it", field)
    if fields.on_exhausted is Exhausted.BLOCK and mode not in _ORDERED:
        raise _not_in(mode, _ORDERED, repr(Exhausted.BLOCK.value), "onExhausted")


def _not_in(mode: GroupMode, modes: tuple[GroupMode, ...], what: str, field: str) -> ServerError:
    detail = f"only groups of mode {' or '.join(each.value for each in modes)} have {what}, this one is {mode.value}"
    return ServerError(ProblemCode.INVALID_FIELD, detail, field=f"settings.{field}")
