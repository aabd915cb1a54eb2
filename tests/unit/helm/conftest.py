"""One helm, and what it has rendered, for all tests of the chart in this process."""

import pytest

from tests.support.helm_program import helm_program
from tests.support.rendered_chart import Chart


@pytest.fixture(scope="session")
def chart(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    return Chart(helm_program(pytestconfig), tmp_path_factory.mktemp("helm"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In one worker: what is rendered once serves all of them."""
    for item in items:
        if "tests/unit/helm/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("helm"))
