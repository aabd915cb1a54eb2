"""A Spark session for a command: the one that spark-submit has made, or one of this machine."""

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acklog.command.failures import CommandError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*,4]"
"""Four tries for a task: a worker that is killed costs its task, not the run."""
JAVA_MIN = 17
JAVA_HINT = "Install it (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME."
_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')
_LOGGERS_OF_FAILURES = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")  # pyspark.errors.exceptions.base
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, which has chosen the master and started Java


def is_submitted() -> bool:
    """Whether spark-submit has started this process."""
    return _SUBMITTED in os.environ


def parse_settings(given: Sequence[str]) -> dict[str, str]:
    """`key=value` of each --conf. Raises UsageError."""
    found: dict[str, str] = {}
    for each in given:
        key, is_there, value = each.partition("=")
        if not is_there or not key:
            raise UsageError(f"{each!r} is no setting", field="--conf", hint="Write it as spark.driver.memory=4g.")
        found[key] = value
    return found


def open_session(name: str, *, master: str, settings: Mapping[str, str], is_quiet: bool) -> "SparkSession":
    """Raises CommandError where there is no Java that Spark can use, or Spark cannot be started."""
    if not is_submitted():
        require_java()
        for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
            os.environ.setdefault(variable, sys.executable)
    from pyspark.sql import SparkSession

    # Parquet's own times; Spark's default is a form that is out of use, and that readers cannot skip by.
    builder = SparkSession.builder.appName(name).config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    if not is_submitted():
        local = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "8",
        }
        is_local = not master or master.startswith("local")
        builder = builder.master(master or LOCAL_MASTER)
        for key, value in {**(local if is_local else {}), **settings}.items():
            builder = builder.config(key, value)
    else:
        for key, value in settings.items():
            builder = builder.config(key, value)
    with _java_quiet() if is_quiet else _as_it_is():
        return _started(builder)


def _started(builder: "SparkSession.Builder") -> "SparkSession":
    """Raises CommandError."""
    from pyspark_acklog.failures import one_line

    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever Py4J, Spark and Java make of it
        hint = "Look at --master and --conf; --debug shows all that Spark says."
        raise CommandError(f"Spark cannot be started: {one_line(error)}", hint=hint) from error


def require_java() -> None:
    """Raises CommandError."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise CommandError(f"Java was not found, and Spark needs Java {JAVA_MIN} or newer", hint=JAVA_HINT)
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        what = f"Java cannot be run at {java}: {getattr(error, 'strerror', None) or error}"
        raise CommandError(what, hint=JAVA_HINT) from None
    found = _VERSION.search(told.stderr + told.stdout)
    if told.returncode != 0 or found is None:
        raise CommandError(f"{java} is no Java that says its version", hint=JAVA_HINT)
    if int(found[1]) < JAVA_MIN:
        raise CommandError(f"{java} is Java {found[1]}, and Spark needs {JAVA_MIN} or newer", hint=JAVA_HINT)


@contextmanager
def _java_quiet() -> Iterator[None]:
    """Java and its workers inherit a standard error that goes nowhere: what they log of a failure, with its stack
    traces, comes to the command as an exception as well. So does what PySpark logs of one."""
    for name in _LOGGERS_OF_FAILURES:
        logging.getLogger(name).disabled = True
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
