"""The ten main jobs of the console, each by clicks and keys to its end, and which calls of the API each makes."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.integration.console.jobs.stage import MESSAGES, REASON, Stage

DRAINED_MS = 120_000


@dataclass(frozen=True)
class MainJob:
    """`place` is where what it is about is seen, by the calls `sees`; `acts` are those that it comes to. Whoever has no
    right to `acts` sees `control`, which cannot be used."""

    name: str
    do: Callable[[Page, Stage], None]
    place: str
    sees: tuple[str, ...]
    acts: tuple[str, ...] = ()
    control: Callable[[Page], Locator] | None = None


def find_a_topic(page: Page, stage: Stage) -> None:
    press(page, "gt")
    expect(page.get_by_role("heading", name="Topics")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type(stage.topic)
    page.get_by_role("link", name=stage.topic, exact=True).click()
    expect(page.get_by_role("heading", name=stage.topic, level=1)).to_be_visible()
    expect(page.get_by_role("region", name="Partitions").locator("tbody tr")).to_have_count(1)


def read_a_messages_life(page: Page, stage: Stage) -> None:
    find_a_topic(page, stage)
    page.get_by_role("link", name="Messages", exact=True).click()
    page.locator("tbody tr", has_text="customer-0").first.get_by_role("link").click()
    life = page.get_by_role("region", name="Its life in every group")
    expect(life.get_by_text("dead letter", exact=True)).to_be_visible()
    expect(page.get_by_text('"order": 0')).to_be_visible()


def find_a_message_by_key_and_time(page: Page, stage: Stage) -> None:
    find_a_topic(page, stage)
    page.get_by_role("link", name="Messages", exact=True).click()
    page.get_by_label("Key", exact=True).fill("customer-2")
    page.get_by_label("Begin with").select_option("time")
    expect(page.get_by_label("Time", exact=True)).not_to_have_value("")
    page.get_by_label("Key", exact=True).press("Enter")
    expect(page.get_by_text("1 message, the oldest first; these are all")).to_be_visible()
    expect(page.get_by_text('{"order":2}')).to_be_visible()


def look_at_lag_and_the_oldest(page: Page, stage: Stage) -> None:
    press(page, "gg")
    expect(page.get_by_role("heading", name="Groups")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type(stage.group)
    row = page.get_by_role("row", name=stage.group)
    expect(row.locator('[data-title="Lag"]')).not_to_have_text("–")
    page.get_by_role("link", name=stage.group, exact=True).click()
    place = page.get_by_role("region", name="Positions").locator("tbody tr")
    expect(place.locator('[data-title="Lag"]')).to_have_text(str(lag_of(stage)))
    expect(place.locator('[data-title="Oldest"]')).not_to_have_text("–")


def seek_once_it_was_seen_where_to(page: Page, stage: Stage) -> None:
    look_at_lag_and_the_oldest(page, stage)
    before = lag_of(stage)
    page.get_by_role("button", name="Move …").click()
    page.get_by_label("Go on with").select_option("latest")
    page.get_by_role("button", name="Show what would be").click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    assert lag_of(stage) == before
    page.get_by_role("button", name="Move it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert lag_of(stage) == 0


def triage_and_redrive_dead_letters(page: Page, stage: Stage) -> None:
    press(page, "gg")
    page.get_by_label("Search groups").fill(stage.group)
    page.get_by_role("link", name=stage.group, exact=True).click()
    page.get_by_role("link", name="Dead letters").click()
    expect(page.get_by_role("region", name="By reason")).to_contain_text(REASON)
    page.get_by_label("Choose letter 0:0").check()
    page.get_by_role("button", name="Send chosen back …").click()
    page.get_by_role("button", name="Send back", exact=True).click()
    expect(page.get_by_text("All dead letters are handled")).to_be_visible()
    expect(page.get_by_role("region", name="Sent back").locator("tbody tr")).to_contain_text("1 of 1")
    [job] = stage.client.redrives.list(stage.group)
    assert job.moved == 1


def tail(page: Page, stage: Stage) -> None:
    press(page, "gl")
    page.get_by_label("Topic", exact=True).fill(stage.topic)
    page.get_by_label("Topic", exact=True).press("Enter")
    expect(page.get_by_text("Live. 0 messages so far.")).to_be_visible()
    stage.client.send(stage.topic, {"seen": "as it came"})
    expect(page.get_by_text('{"seen":"as it came"}')).to_be_visible()


def send(page: Page, stage: Stage) -> None:
    press(page, "gs")
    page.get_by_label("Topic", exact=True).fill(stage.topic)
    page.get_by_label("Key", exact=True).fill("by-hand")
    page.get_by_label("Body", exact=True).fill('{"sent": "by hand"}')
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Stored at offset")).to_be_visible()
    records = stage.client.records(stage.topic, 0, offset=MESSAGES).messages
    assert {"sent": "by hand"} in [each.body for each in records]


def drain_a_node(page: Page, stage: Stage) -> None:
    press(page, "gc")
    if stage.nodes == 0:
        expect(page.get_by_text("This server is one node by itself")).to_be_visible()
        expect(page.get_by_role("button", name="Drain")).to_have_count(0)
        return
    page.get_by_role("button", name=f"Drain node {stage.nodes} …").click()
    expect(page.get_by_text("Nothing is changed yet.").or_(page.get_by_text("Nothing would be moved."))).to_be_visible()
    page.get_by_role("button", name="Drain it").click()
    node = page.get_by_role("listitem", name=f"Node {stage.nodes}", exact=True)
    expect(node.get_by_text("It can be stopped for good.")).to_be_visible(timeout=DRAINED_MS)
    page.get_by_role("button", name=f"Stop draining node {stage.nodes}").click()
    expect(page.get_by_role("button", name=f"Drain node {stage.nodes} …")).to_be_visible()


def change_a_setting(page: Page, stage: Stage) -> None:
    find_a_topic(page, stage)
    page.get_by_role("button", name="Change …").click()
    page.get_by_label("delayMs").fill("5000")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("5000")
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("1 setting changed.").last).to_be_visible()
    assert stage.client.topics.get(stage.topic).config.delay_ms == 5_000
    stage.client.topics.update(stage.topic, delay_ms=0)


def press(page: Page, keys: str) -> None:
    """As a person does who is in no field."""
    expect(page.locator("main h1")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    for key in keys:
        page.keyboard.press(key)


def lag_of(stage: Stage) -> int:
    return stage.client.groups.offsets(stage.group, stage.topic).lag


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name, exact=True)


TOPIC, GROUP = "topics/{topic}", "groups/{group}"
SEES_GROUP = ("describeGroup", "groupOffsets")
SEES_LETTERS = (*SEES_GROUP, "describeTopic", "readRecords", "lookAtMessage")
JOBS = [
    MainJob("find a topic", find_a_topic, TOPIC, ("listTopics", "describeTopic")),
    MainJob(
        "read a message's life",
        read_a_messages_life,
        TOPIC,
        ("describeTopic",),
        ("readRecords", "lookAtMessage"),
        lambda page: page.locator(".screen-head").get_by_role("button", name="Messages", exact=True),
    ),
    MainJob(
        "find a message by key and time",
        find_a_message_by_key_and_time,
        f"{TOPIC}/messages",
        ("describeTopic", "readRecords"),
    ),
    MainJob("look at lag and the oldest", look_at_lag_and_the_oldest, GROUP, ("listGroups", *SEES_GROUP)),
    MainJob("seek", seek_once_it_was_seen_where_to, GROUP, SEES_GROUP, ("seekGroupByPost",), button("Move …")),
    MainJob(
        "redrive dead letters",
        triage_and_redrive_dead_letters,
        f"{GROUP}/letters",
        SEES_LETTERS,
        ("startRedrive",),
        button("Send all back …"),
    ),
    MainJob("tail", tail, "tail?topic={topic}", ("tailTopic",)),
    MainJob("send", send, "send?topic={topic}", (), ("sendMessages",), button("Send")),
    MainJob(
        "drain a node",
        drain_a_node,
        "cluster",
        ("lookAtCluster",),
        ("planMoves", "drainNode", "stopDrainingNode"),
        button("Drain node 4 …"),
    ),
    MainJob("change a setting", change_a_setting, TOPIC, ("describeTopic",), ("updateTopic",), button("Change …")),
]
