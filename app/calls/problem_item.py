"""A failed item of a batch, as a client sees it."""

import msgspec
from msgspec import UNSET, UnsetType

from cluster.errors import ServerError


class ProblemItem(msgspec.Struct, omit_defaults=True):
    """The small problem that stands in the place of an item's result."""

    code: str
    detail: str
    retriable: bool
    field: str | UnsetType = UNSET


def problem_item(error: ServerError) -> ProblemItem:
    field = UNSET if error.field is None else error.field
    return ProblemItem(error.code.name, error.detail, error.code.retriable, field)
