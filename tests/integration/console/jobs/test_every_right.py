"""Every main job with tokens of each right, and without one: what it may is done, all else is not offered, and why is
said. Who may what comes from the table of the rights that calls need."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from acklog import Client
from app.http.description.needed_rights import NEEDED, Need, On
from cluster.model.action import Action
from tests.integration.console.conftest import OpenPage
from tests.integration.console.jobs.main_jobs import JOBS, MainJob
from tests.integration.console.jobs.stage import Stage, set_stage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

LOOKING = frozenset({Action.LOOK})
READING = LOOKING | {Action.RECEIVE}
MAY: dict[str, frozenset[Action]] = {
    **{f"{each.value}-alone": frozenset({each}) for each in Action},
    **{f"{each.value}-and-look": LOOKING | {each} for each in Action if each is not Action.LOOK},
    "consumer": READING | {Action.SETTLE},
    "operator": LOOKING | {Action.SEEK, Action.MANAGE},
    "clerk": READING | {Action.SETTLE, Action.SEND},
    "all": frozenset(Action),
}
"""By the names of tokens: what each may do, everywhere."""
BRIEF = frozenset({"look-alone"})
OF_NODES = "drain a node"
JOBS_OF_ONE_SERVER = [each for each in JOBS if each.name != OF_NODES]


def secret(token: str) -> str:
    return f"{token}-secret-of-16"


def tokens_toml() -> str:
    lines = []
    for name, actions in MAY.items():
        allow = ", ".join(f'"{each.value}"' for each in actions)
        right = f'{{ allow = [{allow}], topics = ["*"], groups = ["*"], cluster = true }}'
        lines.append(f'{{ name = "{name}", token = "{secret(name)}", rights = [{right}] }}')
    return "tokens = [" + ", ".join(lines) + "]\n"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("rights")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(tokens_toml())
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        yield server


@pytest.mark.parametrize("token", [pytest.param(each, marks=[] if each in BRIEF else pytest.mark.slow) for each in MAY])
def test_what_it_may_is_done_and_nothing_else_offered(guarded: ServerProcess, open_page: OpenPage, token: str) -> None:
    with Client(guarded.base_url, token=secret("all")) as client:
        for number, job in enumerate(JOBS_OF_ONE_SERVER):
            stage = set_stage(client, f"{token}-{number}")
            if not missing(job.sees + job.acts, MAY[token]):
                watched = open_page(guarded.base_url, token=secret(token))
                job.do(watched.page, stage)
                watched.assert_clean("403")  # there may be more on a screen than the job needs
            else:
                assert_not_offered(job, stage, guarded.base_url, open_page, token)


@pytest.mark.slow
def test_without_a_token_nothing_is_shown_but_the_way_in(guarded: ServerProcess, open_page: OpenPage) -> None:
    with Client(guarded.base_url, token=secret("all")) as client:
        stage = set_stage(client, "nobody")
    for job in JOBS:
        page = open_page(guarded.base_url, f"#/{place_of(job, stage)}").page
        expect(page.get_by_text("This server asks for a token.")).to_be_visible()
        expect(page.get_by_role("navigation")).to_have_count(0)
        expect(page.get_by_text(stage.group)).to_have_count(0)


def assert_not_offered(job: MainJob, stage: Stage, url: str, open_page: OpenPage, token: str) -> None:
    page = open_page(url, f"#/{place_of(job, stage)}", token=secret(token)).page
    unseen = missing(job.sees, MAY[token])
    if unseen or job.control is None:
        expect(page.get_by_role("alert").first).to_contain_text("has no right to")
        assert any(
            f"right to {each}" in said for each in unseen for said in page.get_by_role("alert").all_inner_texts()
        )
        return
    control = job.control(page)
    expect(control).to_be_disabled()
    reasons = [reason_of(token, each, stage) for each in missing_needs(job.acts, MAY[token])]
    said = control.evaluate("each => document.getElementById(each.getAttribute('aria-describedby')).textContent")
    assert said in [each for found in reasons for each in found]


def missing(operations: tuple[str, ...], actions: frozenset[Action]) -> set[str]:
    """Actions, each of which a call needs that the token does not have."""
    return {each.value for need in missing_needs(operations, actions) for each in need.actions}


def missing_needs(operations: tuple[str, ...], actions: frozenset[Action]) -> list[Need]:
    needs = [need for operation in operations for need in NEEDED[operation].needs]
    return [need for need in needs if actions.isdisjoint(need.actions)]


def reason_of(token: str, need: Need, stage: Stage) -> list[str]:
    """As the console says it: on each that it may be about."""
    resources = {
        On.TOPIC: [f"topic {stage.topic}", f"topic {stage.letters}"],
        On.GROUP: [f"group {stage.group}"],
        On.CLUSTER: ["the cluster"],
    }[need.on]
    return [
        f"Your token “{token}” has no right to {action.value} on {each}."
        for action in need.actions
        for each in resources
    ]


def place_of(job: MainJob, stage: Stage) -> str:
    return job.place.format(topic=stage.topic, group=stage.group)
