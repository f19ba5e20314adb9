"""What memory holds does nothing inside a chat, whatever it is and however much."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from tests.browser.chat_host import KNOWS, Chat
from tests.browser.test_inert import _TOUCH, HOSTILE, WIDE
from tests.flows.opened_store import opened
from tests.wires.mcp_session import Session

NARROW = {"width": 320, "height": 600}
LONG = "a" * 32_700
MANY = 1_000


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(tmp_path_factory.mktemp("inert") / "store", toolsets="core,review")
    session.extensions = [KNOWS]
    with session as entered:
        yield entered


@pytest.fixture(scope="module")
def hostile(agent: Session) -> str:
    """The review of a branch on which every text is hostile."""
    script, image, *_ = HOSTILE
    who = {"agent_id": image, "session_id": HOSTILE[6], "task_id": HOSTILE[7]}
    agent.ok("memory_write_fact", fact_text="A beginning.")
    agent.ok("memory_branch_create", branch_name="target")
    write = "memory_write_fact"
    conflict = agent.ok(write, fact_text=f"{script} first", branch="target", **who)["id"]
    agent.ok("memory_branch_create", branch_name="task/x", parent_branch="target")
    for text in (*HOSTILE, WIDE, LONG):
        agent.ok(write, fact_text=f"{text} new", category=text[:60], branch="task/x", **who)
        triple = {"source_entity": text[:60], "target_entity": image, "relation_type": text[:60]}
        more = {"properties": {script: text[:900]}, "branch": "task/x", **who}
        agent.ok("memory_write_relation", **triple, **more)
    for branch, text in (("target", image), ("task/x", WIDE)):
        changed = {"fact_text": text, "category": text[:60], "reason": script, "branch": branch}
        agent.ok("memory_update_fact", fact_id=conflict, **changed, **who)
    about = {"title": image, "description": LONG}
    sides = {"source_branch": "task/x", "target_branch": "target"}
    review: str = agent.ok("review_open", **sides, **about, **who)["id"]
    return review


@pytest.fixture
def chat(chromium: Browser, agent: Session) -> Iterator[Chat]:
    made = Chat(chromium, agent, viewport=NARROW)
    yield made
    made.close()


def nothing_happened(chat: Chat) -> None:
    """Nothing of memory is an element, an address or a style, and nothing is asked of anybody."""
    for things in (
        "script, img, iframe, style, link, svg, a, object, embed, video",
        "[href], [src], [style], [onclick]",
    ):
        expect(chat.main.locator(f":is({things})")).to_have_count(0)
    chat.frame.locator("main *").evaluate_all(_TOUCH)
    chat.check()


def test_hostile_texts_are_shown_and_do_nothing(chat: Chat, hostile: str) -> None:
    chat.show("review_show", review_id=hostile)
    seen = ""
    while True:
        nothing_happened(chat)
        chat.fits()
        chat.frame.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
        nothing_happened(chat)
        chat.fits()
        seen += chat.main.inner_text()
        further = chat.main.get_by_role("button", name="Further")
        if not further.count():
            break
        before = chat.main.locator(".place").first.inner_text()
        further.click()
        expect(chat.main.locator(".place").first).not_to_have_text(before)
    for text in HOSTILE:
        if text.isprintable():
            assert " ".join(text.split()) in " ".join(seen.split()), text
    assert "invoiceU+202Egnp.exe" in seen.replace("\n", "").replace(" ", "")
    assert seen.count(LONG) == 3, "the description on each page, and a memory, when unfolded"
    told: list[dict[str, Any]] = chat.page.evaluate("heard")
    assert {said["method"] for said in told} <= {
        "ui/initialize",
        "ui/notifications/initialized",
        "ui/notifications/size-changed",
        "tools/call",
    }
    assert {name for name, _ in chat.calls} == {"review_show"}


@pytest.mark.weekly
def test_hostile_texts_are_decided_as_they_are(chat: Chat, agent: Session, hostile: str) -> None:
    """What was edited comes back as it was written, to the last character."""
    chat.show("review_show", review_id=hostile)
    place = chat.main.locator(".point.open").first
    row = str(place.get_attribute("id")).rpartition(".")[0]
    edited = "\n".join((*HOSTILE, "\u05d0\u05d1\u05d2 right to left"))
    place.get_by_text("Edit", exact=False).first.click()
    place.locator("textarea").fill(edited)
    place.get_by_role("button", name="Keep this").click()
    expect(chat.main.locator(".verdict")).to_have_count(1)
    nothing_happened(chat)
    (made,) = (
        one
        for shown in agent.ok("review_show", review_id=hostile, limit=200)["rows"]
        for one in shown["decisions"]
    )
    assert (made["id"], made["take"], made["value"]) == (row, "value", {"fact_text": edited})


@pytest.mark.weekly
def test_a_plan_of_a_thousand_changes_is_paged_and_merged(chat: Chat, agent: Session) -> None:
    agent.ok("memory_branch_create", branch_name="large", parent_branch="main")
    with opened(agent.folder) as store, store.repo.store.adding("large") as work:
        texts = (NewFact(f"Change number {n}.") for n in range(MANY))
        ids = (store.repo.new_id(FACT.prefix, work.now) for _ in range(MANY))
        work.add(FACT, [fact_row(*new, Origin(), work.now) for new in zip(ids, texts, strict=True)])
    chat.show("review_open", source_branch="large")
    chat.says("1,000 new")
    assert chat.main.locator("article").count() == 20
    for _ in range(3):
        first = chat.main.locator(".place").first.inner_text()
        chat.main.get_by_role("button", name="Further").click()
        expect(chat.main.locator(".place").first).to_have_text(str(int(first) + 20))
    chat.says("61 to 80 of 1,000")
    chat.fits()
    chat.main.locator("article").nth(5).get_by_role("button", name="Skip").click()
    chat.says("1 decision, 0 to go")
    chat.says("61 to 80 of 1,000")
    chat.main.get_by_role("button", name="Before").click()
    chat.says("41 to 60 of 1,000")
    chat.main.get_by_role("button", name="Merge…").click()
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    chat.says("merged 999, held 1")
    main = agent.everything(["main"])["main"]
    facts = {str(row["fact_text"]) for row in main["facts"]}
    assert len(facts & {f"Change number {n}." for n in range(MANY)}) == MANY - 1
    assert len(main["held"]) == 1
