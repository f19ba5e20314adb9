"""A review on the pages, by forms alone: decided, merged, undone, closed; nothing goes stale."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest

from day1.model.values.parts import MAX_TEXT
from tests.wires.http_server import HttpServer
from tests.wires.scriptless_browser import Browser, Form, Page

_numbers = count(1)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("reviews") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server, Browser(server) as found:
        yield found


class Reviewed(NamedTuple):
    """A review with a conflict in a text and one in a category, and one row of each other kind."""

    browser: Browser
    target: str
    source: str
    conflict: str
    labelled: str
    changed: str
    removed: str
    new: str
    id: str

    @property
    def path(self) -> str:
        return f"/review/reviews/{self.id}"

    def shown(self) -> dict[str, Any]:
        return self.browser.server.ok("review_show", review_id=self.id)

    def form(self, row: str, cell: str = "*") -> Form:
        """The form that decides a row or a cell of it."""
        return self.browser.get(self.path).form(f"{self.path}/decide", row=row, cell=cell)

    def decide(self, row: str, take: str, cell: str = "*", status: int = 200, **more: str) -> Page:
        return self.browser.send(self.form(row, cell), status, take=take, **more)

    def text(self, row: str) -> dict[str, Any] | None:
        """A fact as the target has it."""
        found = self.browser.server.post("memory_get", id=row, branch=self.target)
        return found.body["row"] if found.status == 200 else None


@pytest.fixture
def review(browser: Browser) -> Reviewed:
    server, number = browser.server, next(_numbers)
    target, source = f"target/{number}", f"source/{number}"
    server.ok("memory_branch_create", branch_name=target)
    ids = [
        server.ok("memory_write_fact", fact_text=text, category="old", branch=target)["id"]
        for text in ("It takes 30 seconds.", "Labelled.", "It is Tuesday.", "To be removed.")
    ]
    conflict, labelled, changed, removed = ids
    server.ok("memory_branch_create", branch_name=source, parent_branch=target)

    def update(branch: str, fact: str, **more: Any) -> None:
        server.ok("memory_update_fact", fact_id=fact, branch=branch, **more)

    update(source, conflict, fact_text="It takes 45 seconds.", agent_id="eve", reason="measured")
    update(target, conflict, fact_text="It takes 60 seconds.", agent_id="bo", reason="was told")
    update(source, labelled, category="theirs")
    update(target, labelled, category="ours")
    update(source, changed, fact_text="It is Wednesday.")
    server.ok("memory_retract_fact", fact_id=removed, branch=source)
    new = server.ok("memory_write_fact", fact_text="Brand new.", branch=source)["id"]
    page = browser.get(f"/review/branches/{source}")
    form = page.form("/review/reviews", source=source)
    assert form.fields["target"] == target
    opened = browser.send(form)
    review_id = opened.address.rpartition("/")[2]
    return Reviewed(browser, target, source, conflict, labelled, changed, removed, new, review_id)


def test_a_review_says_in_groups_what_would_change_and_who_wrote_it(review: Reviewed) -> None:
    page = review.browser.get(review.path)
    order = [page.text.index(f"{name} {n}") for name, n in GROUPS.items()]
    assert order == sorted(order)
    assert f"{review.source} into {review.target}: 2 conflicts, 1 new" in page.text
    assert "0 decisions, 2 to go" in page.text
    assert "<del>60</del><ins>45</ins>" in page.html
    assert "<del>Tuesday</del><ins>Wednesday</ins>" in page.html
    for said in ("eve", "measured", "bo", "was told", "Labelled."):
        assert said in page.text
    assert "removed on" in page.text.partition("Removed 1")[2]


def test_words_that_are_not_shown_are_not_there_to_be_edited(review: Reviewed) -> None:
    secret = {"fact_text": "The PIN is quokka.", "sensitivity": "secret"}
    fact = review.browser.server.ok("memory_write_fact", **secret, branch=review.source)["id"]
    form = review.form(fact)
    assert "v.confidence" in form.fields
    assert "v.fact_text" not in form.fields
    edited: dict[str, Any] = {"v.confidence": "0.5"}
    review.decide(fact, "value", **edited)
    assert "[secret]" in review.browser.get(review.path).text


GROUPS = {"Conflicts": 2, "New": 1, "Changed": 1, "Removed": 1}


def test_every_choice_is_kept_and_merged_as_it_was_made(review: Reviewed) -> None:
    page = review.decide(review.conflict, "theirs", "fact_text")
    assert page.address.startswith(review.path)
    assert "1 decision, 1 to go" in page.text
    edited: dict[str, Any] = {"v.category": "both"}
    assert (
        "2 decisions, 0 to go" in review.decide(review.labelled, "value", "category", **edited).text
    )
    review.decide(review.changed, "ours")
    review.decide(review.new, "skip")
    page = review.browser.get(review.path)
    assert "4 decisions, 0 to go" in page.text
    assert page.html.count('aria-pressed="true"') == 3
    asked = review.browser.get(next(link for link in page.links if link.endswith("/merge")))
    merged = review.browser.send(asked.form(f"{review.path}/merge"))
    assert (merged.address, "Merged" in merged.text) == (review.path, True)
    for row, column, value in (
        (review.conflict, "fact_text", "It takes 45 seconds."),
        (review.labelled, "category", "both"),
        (review.changed, "fact_text", "It is Tuesday."),
    ):
        found = review.text(row)
        assert found is not None
        assert found[column] == value
    assert review.text(review.removed) is None
    assert review.text(review.new) is None
    held = review.browser.server.ok("memory_held", branch=review.target)["items"]
    assert [item["row_id"] for item in held] == [review.new]


def test_a_decision_can_be_taken_back(review: Reviewed) -> None:
    review.decide(review.conflict, "ours", "fact_text")
    page = review.decide(review.conflict, "clear", "fact_text")
    assert "0 decisions, 2 to go" in page.text


def test_an_edit_starts_from_their_text_and_keeps_every_letter(review: Reviewed) -> None:
    form = review.form(review.conflict, "fact_text")
    assert form.fields["v.fact_text"] == "It takes 45 seconds."
    said = "\nIt takes 50 seconds:\r\n<b>both</b> \"agree\" & 'sign'."
    review.browser.send(form, take="value", **{"v.fact_text": said})
    (decision,) = next(r for r in review.shown()["rows"] if r["id"] == review.conflict)["decisions"]
    assert decision["value"]["fact_text"] == said.replace("\r\n", "\n")
    again = review.form(review.conflict, "fact_text")
    assert again.fields["v.fact_text"] == said.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"take": "value", "v.confidence": "much"}, "number from 0 to 1"),
        ({"take": "value", "v.confidence": "2"}, "confidence"),
        ({"take": "value", "v.fact_text": ""}, "fact_text"),
        ({"take": "nonsense"}, "take"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_where_it_was_given(
    review: Reviewed, fields: dict[str, str], said: str
) -> None:
    form = review.form(review.new)
    page = review.browser.send(form, 400, **fields)
    assert said in page.text
    assert "0 decisions, 2 to go" in page.text


def test_a_text_as_long_as_a_memory_may_be_is_edited_and_merged(review: Reviewed) -> None:
    longest = 'a"\n\\' * (MAX_TEXT // 4)  # JSON takes more characters for it
    edited = {"take": "value", "v.fact_text": longest}
    refused = review.browser.send(
        review.form(review.new), 400, **{**edited, "v.fact_text": longest + "b"}
    )
    assert "fact_text" in refused.text
    review.browser.send(review.form(review.new), **edited)
    review.browser.send(review.browser.get(f"{review.path}/merge").form(f"{review.path}/merge"))
    merged = review.text(review.new)
    assert merged is not None
    assert merged["fact_text"] == longest


@pytest.mark.parametrize("refused", ["row changed", "no number"])
def test_what_was_typed_in_a_refused_edit_is_still_there(review: Reviewed, refused: str) -> None:
    form, changes = review.form(review.new), refused == "row changed"
    typed = {"v.fact_text": "Thought about\r\nfor an hour.", "v.confidence": "0.5"}
    if changes:
        changed = {"fact_text": "Newer.", "branch": review.source}
        review.browser.server.ok("memory_update_fact", fact_id=review.new, **changed)
    else:
        typed["v.confidence"] = "much"
    page = review.browser.send(form, 409 if changes else 400, take="value", **typed)
    shown = page.form(f"{review.path}/decide", row=review.new)
    assert {**shown.fields, **typed, "v.fact_text": "Thought about\nfor an hour."} == shown.fields
    assert page.html.count('<details class="edit" open>') == 1
    assert "0 decisions" in page.text
    sent = review.browser.send(shown, take="value", **{"v.confidence": "0.5"})
    assert "1 decision," in sent.text


def test_enter_in_a_line_keeps_what_was_typed_there(review: Reviewed) -> None:
    form = review.form(review.labelled, "category")
    assert "v.category" in form.fields
    name, value = form.buttons[0]  # the one that Enter presses
    review.browser.send(form, **{name: value, "v.category": "typed"})
    (decision,) = next(r for r in review.shown()["rows"] if r["id"] == review.labelled)["decisions"]
    assert decision["value"] == {"category": "typed"}


def test_who_decides_about_a_row_that_changed_sees_it_anew(review: Reviewed) -> None:
    form = review.form(review.conflict, "fact_text")
    changed = {"fact_text": "It takes 75 seconds.", "branch": review.source}
    review.browser.server.ok("memory_update_fact", fact_id=review.conflict, **changed)
    page = review.browser.send(form, 409, take="ours")
    assert "75" in page.text
    assert "changed since you saw it" in page.text
    assert "0 decisions, 2 to go" in page.text


def test_a_stale_decision_is_shown_and_can_be_forgotten(review: Reviewed) -> None:
    review.decide(review.conflict, "theirs", "fact_text")
    changed = {"fact_text": "It takes 75 seconds.", "branch": review.source}
    review.browser.server.ok("memory_update_fact", fact_id=review.conflict, **changed)
    page = review.browser.get(review.path)
    assert "does not apply any more" in page.text
    stale = [f for f in page.forms if f.buttons == [("take", "clear")]]
    assert len(stale) == 1
    assert "does not apply" not in review.browser.send(stale[0], take="clear").text


def test_a_plan_that_changed_is_shown_anew_before_anything_is_merged(review: Reviewed) -> None:
    asked = review.browser.get(f"{review.path}/merge").form(f"{review.path}/merge")
    later = review.browser.server.ok(
        "memory_write_fact", fact_text="Later than the question.", branch=review.source
    )["id"]
    page = review.browser.send(asked, 409)
    assert "You saw:" in page.text
    assert "1 new" in page.text.partition("You saw:")[2].partition("Now:")[0]
    assert "2 new" in page.text.partition("Now:")[2]
    assert "Later than the question." in page.text
    assert review.text(later) is None
    assert review.shown()["status"] == "open"


def test_merging_asks_first_and_says_what_will_be_held(review: Reviewed) -> None:
    asked = review.browser.get(f"{review.path}/merge")
    assert "2 conflicts are undecided" in asked.text
    page = review.browser.send(asked.form(f"{review.path}/merge"))
    assert "held 2" in page.text
    assert review.text(review.conflict)["fact_text"] == "It takes 60 seconds."  # type: ignore[index]  # it is there


def test_a_merge_is_undone_in_two_steps(review: Reviewed) -> None:
    review.browser.send(review.browser.get(f"{review.path}/merge").form(f"{review.path}/merge"))
    assert review.text(review.new) is not None
    page = review.browser.get(review.path)
    seen = review.browser.get(next(link for link in page.links if "/review/revert?" in link))
    assert "Brand new." in seen.text
    assert review.text(review.new) is not None, "looking changes nothing"
    done = review.browser.send(seen.form("/review/revert"))
    assert "Undone" in done.text
    assert review.path in done.links
    assert review.text(review.new) is None
    assert review.text(review.changed)["fact_text"] == "It is Tuesday."  # type: ignore[index]  # it is there
    log = review.browser.get(f"/review/branches/{review.target}?tab=log")
    assert "revert merge" in log.text


def test_an_undoing_that_would_be_another_is_shown_anew(review: Reviewed) -> None:
    review.browser.send(review.browser.get(f"{review.path}/merge").form(f"{review.path}/merge"))
    page = review.browser.get(review.path)
    seen = review.browser.get(next(link for link in page.links if "/review/revert?" in link))
    changed = {"fact_text": "Changed since.", "branch": review.target}
    review.browser.server.ok("memory_update_fact", fact_id=review.new, **changed)
    again = review.browser.send(seen.form("/review/revert"), 409)
    assert "Changed since" in again.text
    found = review.text(review.new)
    assert found is not None
    assert found["fact_text"] == "Changed since."


def test_a_review_is_closed_with_a_reason(review: Reviewed) -> None:
    form = review.browser.get(review.path).form(f"{review.path}/close")
    page = review.browser.send(form, reason="superseded by another")
    assert "superseded by another" in page.text
    assert not [form for form in page.forms if form.action.startswith(review.path)]
    assert review.id in str(review.browser.get("/review/reviews?status=closed").links)


def test_a_long_review_comes_in_pages_and_keeps_the_one_that_is_decided_on(
    browser: Browser,
) -> None:
    server = browser.server
    server.ok("memory_branch_create", branch_name="long")
    ids = [
        server.ok("memory_write_fact", fact_text=f"Change {n}.", branch="long")["id"]
        for n in range(60)
    ]
    opened = server.ok("review_open", source_branch="long")["id"]
    first = browser.get(f"/review/reviews/{opened}")
    assert "1 to 50 of 60" in first.text
    second = browser.get(next(li for li in first.links if li.endswith("?offset=50")))
    assert "51 to 60 of 60" in second.text
    form = second.form(f"/review/reviews/{opened}/decide", row=ids[59])
    refused = browser.send(form, 400, take="nonsense")
    here = f"/review/reviews/{opened}"
    assert {f"{here}?", f"{here}?offset=50"} <= set(refused.links), "to other pages, and this one"
    assert not [link for link in refused.links if "/decide" in link or link.startswith("?")]
    decided = browser.send(form, take="skip")
    assert decided.address.partition("#")[0].endswith("?offset=50")
    assert "1 decision, 0 to go" in decided.text
    browser.send(form, take="ours", offset="9" * 5_000)
    assert "Nothing further than 60" in browser.get(f"{here}?offset=100").text


def test_a_review_of_a_branch_that_is_gone_offers_no_merge(review: Reviewed) -> None:
    assert f"{review.path}/merge" in review.browser.get(review.path).links
    review.browser.server.ok("memory_branch_delete", branch_name=review.source, force=True)
    page = review.browser.get(review.path)
    assert "a branch that is gone" in page.text
    assert f"{review.path}/merge" not in page.links


def test_what_is_protected_says_what_is_missing(review: Reviewed) -> None:
    review.browser.server.ok("memory_branch_protect", branch_name=review.target, requires=["gate"])
    page = review.browser.get(f"{review.path}/merge")
    assert "gate" in page.text
    form = page.form(f"{review.path}/merge")
    refused = review.browser.send(form, 403)
    assert "Protected" in refused.text
    assert review.shown()["status"] == "open"
