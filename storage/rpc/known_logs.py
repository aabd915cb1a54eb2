"""A fetch as a node of an earlier release understands it, which knows fewer logs of a partition."""

import msgspec

from storage.log.log_table import LOGS
from storage.replication.messages import FetchRequest


def fetch_of_known_logs(request: FetchRequest, version: int) -> FetchRequest:
    """The positions of the logs that a connection of this `version` knows; `request` itself where those are all."""
    known = sum(spec.since_version <= version for spec in LOGS.values())
    if known == len(LOGS):
        return request
    partitions = [msgspec.structs.replace(each, positions=each.positions[:known]) for each in request.partitions]
    return msgspec.structs.replace(request, partitions=partitions)
