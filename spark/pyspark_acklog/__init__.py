"""Acklog's topics as tables of Spark: `spark.read.format("acklog")`. Spark finds it by the name of this package."""

from pyspark_acklog.version import __version__

__all__ = ["DefaultSource", "__version__"]


def __getattr__(name: str) -> object:
    # Only whoever asks for the data source needs pyspark: the commands say in one line what to install without it.
    if name == "DefaultSource":
        from pyspark_acklog.source import AcklogSource

        return AcklogSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
