"""What is written from the description is what it says."""

from pathlib import Path

from app.sqs.calls.call_table import HANDLERS, RECEIVE
from app.sqs.description.call_description import read_description
from app.sqs.description.shape_writer import shapes_source
from app.sqs.shapes import CALLS
from app.sqs.sqs_error import SqsErrorCode

REPOSITORY = Path(__file__).parents[5]
OPERATIONS = 23


def test_the_types_are_what_the_generator_writes() -> None:
    assert (REPOSITORY / "app/sqs/shapes.py").read_text() == shapes_source(read_description())


def test_every_call_has_a_handler() -> None:
    assert len(CALLS) == OPERATIONS
    assert sorted([*HANDLERS, RECEIVE]) == sorted(CALLS)


def test_errors_that_calls_name_are_known() -> None:
    known = {code.value.shape for code in SqsErrorCode}
    named = {error for call in read_description().calls.values() for error in call.errors}
    assert named - known == set()


def test_names_of_collections_and_structures_lead_somewhere() -> None:
    description = read_description()
    known = {"string", "integer", "boolean", "blob", *description.collections, *description.structures}
    used = {each.list or each.map for each in description.collections.values()}
    for members in (
        *description.structures.values(),
        *(call.input for call in description.calls.values()),
        *(call.result for call in description.calls.values()),
    ):
        used |= {member.type for member in members.values()}
    assert used - known == set()
    assert set(description.structures) | set(description.collections) <= used
