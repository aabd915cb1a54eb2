"""Tables in the documentation that repeat facts of the code are what the code says now."""

import pytest

from acklog.wire.problems import ProblemCode
from app.configuration.node_settings import numeric_settings
from app.configuration.server_settings import Settings, option_of
from docs import generate
from docs.dashboards import dashboard_files
from tests.unit.docs.documents import REPOSITORY, read_document, section, table


@pytest.mark.parametrize("name", [*generate.PARTS, *dashboard_files()])
def test_generated_parts_are_current(name: str) -> None:
    assert (REPOSITORY / name).read_text() == generate.generated()[name], "run python -m docs.generate"


def test_every_setting_is_explained() -> None:
    """And none twice: what the code explains itself needs no text in the generator."""
    for each in numeric_settings():
        described = generate.descriptions(each.kind)
        assert (each.field in described) != (each.field in generate.EXPLANATIONS), each.name


def test_the_operations_page_has_every_option() -> None:
    page = section(read_document("operations.md"), "Settings of the server")
    listed = [row[0].strip("`") for row in table(page)]
    assert listed == [option_of(name) for name in Settings.__dataclass_fields__]


def test_the_errors_page_has_every_code() -> None:
    page = section(read_document("errors.md"), "All codes")
    listed = {row[0].strip("`"): (int(row[1]), row[2] == "yes") for row in table(page)}
    assert listed == {code.name: (code.status, code.retriable) for code in ProblemCode}


def test_a_part_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="not marked"):
        generate._replace("nothing here", "settings", "x")
