"""By what a group is fair: one thing at a time, as what is in flight is counted by that."""

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import FairBy, GroupSettings


def check_shares(settings: GroupSettings) -> None:
    """Raises ServerError INVALID_FIELD, which names what does not go with the others."""
    header = settings.fair_by_header
    if header is None:
        if settings.max_in_flight_per_header is not None:
            raise _invalid("maxInFlightPerHeader", "counts by the header that fairByHeader names, and it names none")
        return
    if not 1 <= len(header.encode()) <= limits.HEADER_NAME_BYTES_MAX:
        raise _invalid("fairByHeader", f"a header's name has 1 to {limits.HEADER_NAME_BYTES_MAX} bytes")
    if settings.fair_by is not FairBy.NONE:
        raise _invalid("fairByHeader", f"the group is fair by {settings.fair_by.value}: set fairBy to none with it")
    if settings.max_in_flight_per_key is not None:
        raise _invalid("maxInFlightPerKey", "the group is fair by a header, whose values maxInFlightPerHeader limits")


def _invalid(name: str, detail: str) -> ServerError:
    return ServerError(ProblemCode.INVALID_FIELD, detail, field=f"settings.{name}")
