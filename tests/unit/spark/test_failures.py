"""One line, whatever is wrapped around it."""

import pickle

import pytest

from acklog.errors import CannotConnect, TopicNotFound
from pyspark_acklog.failures import JAVA_HINT, DataLossError, OptionError, SparkSourceError, of_server, one_line

WRAPPED = """An error occurred while calling o49.count.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times
\tat org.apache.spark.scheduler.DAGScheduler.core(DAGScheduler.scala:1)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
pyspark_acklog.failures.DataLossError: acklog: offsets 3 to 8 of flights-0 are not there any more
\tat org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RuntimeError(WRAPPED), "offsets 3 to 8 of flights-0 are not there any more"),
        (DataLossError("gone"), "gone"),
        (OptionError("topic", "is needed"), "option 'topic': is needed"),
        (TopicNotFound("there is no topic 'a'"), "TOPIC_NOT_FOUND: there is no topic 'a'"),
        (RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"), f"Java was not found. {JAVA_HINT}"),
        (
            RuntimeError("java.lang.UnsupportedClassVersionError: x has been compiled"),
            f"the Java that was found is too old. {JAVA_HINT}",
        ),
        (RuntimeError("Traceback (most recent call last):\n  File x\nwhat happened\nmore"), "what happened"),
        (KeyError(), "KeyError"),
    ],
)
def test_one_line(error: Exception, line: str) -> None:
    assert one_line(error) == line


def test_a_cause_is_found() -> None:
    outer = RuntimeError("Spark failed")
    outer.__cause__ = DataLossError("gone")
    assert one_line(outer) == "gone"


def test_a_line_is_not_endless() -> None:
    assert len(one_line(RuntimeError("x" * 5_000))) == 1_000


def test_of_the_server() -> None:
    error = of_server(CannotConnect("refused"), ("http://a:1", "http://b:2"), "planning the read")
    assert error.line == (
        "planning the read: no server can be reached at http://a:1, http://b:2: is it running, and is that its address?"
    )


@pytest.mark.parametrize("error", [OptionError("topic", "is needed"), DataLossError("gone"), SparkSourceError("x")])
def test_errors_travel_between_processes(error: SparkSourceError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))
