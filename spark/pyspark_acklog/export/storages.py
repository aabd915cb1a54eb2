"""Which storage a path means."""

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_path_of(path: str) -> str | None:
    """The directory of this machine that a path or a file: URL means; None for other URLs. Raises StorageError."""
    if not path:
        raise StorageError("the path is empty: name a directory or a URL")
    if "://" not in path and not path.startswith("file:"):
        return path
    parts = urlsplit(path)
    if parts.scheme != "file":
        return None
    if parts.netloc not in {"", "localhost"}:
        raise StorageError(f"{path} names a host: write file:///directory")
    return unquote(parts.path)


def storage_at(path: str, spark: "SparkSession | None" = None) -> Storage:
    """A directory of this machine needs no Spark. Raises StorageError."""
    local = local_path_of(path)
    if local is not None:
        return LocalStorage(local)
    if spark is None:
        raise StorageError(f"{path} is reached through Spark only")
    from pyspark_acklog.export.hadoop_storage import HadoopStorage

    return HadoopStorage(spark, path)
