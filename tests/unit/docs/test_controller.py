"""docs/controller.md gives the defaults that the code has."""

import re
from dataclasses import fields

from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.planner_settings import PlannerSettings
from tests.unit.docs.documents import REPOSITORY


def test_the_numbers_are_the_defaults() -> None:
    document = (REPOSITORY / "docs/controller.md").read_text()
    told = {name: int(value) for name, value in re.findall(r"^\| `(\w+)` \| (\d+) \|$", document, re.MULTILINE)}
    settings = (PlannerSettings(), ControllerSettings())
    defaults = {
        field.name: value
        for each in settings
        for field in fields(each)
        if isinstance(value := getattr(each, field.name), int)
    }
    assert told == defaults
