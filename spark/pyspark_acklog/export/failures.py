"""What can keep an export from going on, in one line each."""

from collections.abc import Mapping

from pyspark_acklog.failures import SparkSourceError


class ExportError(SparkSourceError):
    """A run, a verification or a replay cannot be done."""


class ManifestError(ExportError):
    """A manifest is damaged, or does not follow from the one before it."""


class StorageError(ExportError):
    """A path cannot be read or written."""


class LayoutError(ExportError):
    """The run asks for another kind of table than the one that is there."""


class RunUnderWayError(ExportError):
    """Another run is at work on the same topic and path, or has committed first."""


class NoTopicError(ExportError):
    """There is no topic of that name."""


class RemovedOffsetsError(ExportError):
    """Offsets are gone that were not exported, and gaps are not allowed."""


class TopicsFailedError(ExportError):
    """Some of several topics could not be exported; the others were. `failures` are in the order of the topics."""

    def __init__(self, failures: Mapping[str, SparkSourceError], *, topics: int) -> None:
        lines = "; ".join(f"{topic}: {error.line}" for topic, error in failures.items())
        super().__init__(f"{len(failures)} of {topics} topics were not exported: {lines}")
        self.failures = dict(failures)


class UnexplainedGapError(ExportError):
    """The files lack offsets that the server has, or have some twice: nothing was committed."""
