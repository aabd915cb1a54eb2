"""openapi.yaml is what the application says of itself."""

import yaml

from app.http.description.openapi import openapi_document, to_yaml
from app.http.openapi_file import standalone_app
from tests.architecture.source_tree import REPOSITORY


def test_the_document_is_the_exported_one() -> None:
    exported = to_yaml(openapi_document(standalone_app()))
    assert (REPOSITORY / "openapi.yaml").read_text() == exported, "run make openapi"


def test_the_text_is_yaml_of_the_document() -> None:
    """The writer is our own; a reader that is not has to see the same."""
    document = openapi_document(standalone_app())
    assert yaml.safe_load(to_yaml(document)) == document
