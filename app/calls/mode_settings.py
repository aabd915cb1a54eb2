"""Settings that mean something in groups of some modes only."""

from msgspec import UNSET

from acklog.wire.problems import ProblemCode
from app.calls.groups import GroupSettingsFields
from cluster.errors import ServerError
from cluster.model.values import FairBy, GroupMode

_MODES_OF: dict[str, tuple[GroupMode, ...]] = {
    "max_in_flight_per_key": (GroupMode.SHARED,),
    "fair_by": (GroupMode.SHARED,),
}


def check_mode_settings(fields: GroupSettingsFields, mode: GroupMode) -> None:
    """Null is what groups of every mode have. Raises ServerError INVALID_FIELD."""
    for name, modes in _MODES_OF.items():
        if getattr(fields, name) not in {UNSET, None, FairBy.NONE} and mode not in modes:
            field = fields.__struct_encode_fields__[fields.__struct_fields__.index(name)]
            detail = (
                f"only groups of mode {' or '.join(each.value for each in modes)} have it, this one is {mode.value}"
            )
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=f"settings.{field}")
