"""A Spark session: the one of spark-submit, or one of this machine."""

from typing import TYPE_CHECKING

from acklog_spark.sessions import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(name: str) -> "SparkSession":
    return open_session(name, master="", settings={"spark.sql.session.timeZone": "UTC"}, is_quiet=True)
