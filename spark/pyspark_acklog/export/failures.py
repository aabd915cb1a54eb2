"""What can keep an export from going on, in one line each."""

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


class RemovedOffsetsError(ExportError):
    """Offsets are gone that were not exported, and gaps are not allowed."""


class UnexplainedGapError(ExportError):
    """The files lack offsets that the server has, or have some twice: nothing was committed."""
