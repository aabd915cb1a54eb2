"""One Spark session and one server for all tests of this folder: a JVM takes seconds to start, and memory."""

import os
import shutil
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import acklog
from tests.support.server_process import ServerProcess

HAS_JAVA = shutil.which("java") is not None or "JAVA_HOME" in os.environ


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.integration)
            if not HAS_JAVA:
                item.add_marker(pytest.mark.skip(reason="there is no Java"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[name] = sys.executable
    warehouse = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={warehouse}",
        "spark.local.dir": str(warehouse / "local"),
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    # Four failures of a task are tried again, as on a cluster.
    builder = SparkSession.builder.master("local[2,4]").appName("acklog-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("server")
    with ServerProcess(directory / "data", directory / "server.log") as process:
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[acklog.Client]:
    with acklog.Client(server.base_url) as client:
        yield client
