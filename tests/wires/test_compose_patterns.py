"""Patterns and skills of Compose over HTTP: counted, validated, promoted, and nobody else's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.branches.lookup import find
from day1.services.rows.editing import Correction, Removal, remove, update
from day1.services.skills.mining import Extracted, Extraction, extract_patterns
from tests.flows.opened_store import opened
from tests.tool_threads import FIX, asked, called, twelve_conversations, write_thread
from tests.wires.compose_client import WALLET, ComposeClient
from tests.wires.served_toolsets import served

OWNER = Owner(WALLET)
FORGED = {"valid": True, "confidence": 1, "occurrences": 99, "successRate": 1, "toolSequence": []}


class Scene:
    """A client on a branch of its own, and the store behind it."""

    def __init__(self, store: OpenStore, client: ComposeClient) -> None:
        self.store, self.client = store, client
        self.branch = client.headers["Day1-Branch"]

    def extract(self, owner: Owner = OWNER) -> Extracted:
        branch = find(self.store.repo, self.branch)
        return extract_patterns(self.store.repo, Extraction(branch, owner, Origin(owner.wallet)))

    def thread(self, name: str, *lines: Any, owner: Owner = OWNER) -> list[str]:
        return write_thread(self.store.repo, owner, name, lines, branch=self.branch)

    def pattern(self, **more: Any) -> dict[str, Any]:
        """The one pattern that the wallet has."""
        (pattern,) = self.client.ok("patterns_list", agentWallet=WALLET, **more)["patterns"]
        found: dict[str, Any] = pattern
        return found


@contextmanager
def _serving(folder: Any) -> Iterator[tuple[OpenStore, ComposeClient]]:
    with opened(folder, create=True) as store, served(store) as http:
        yield store, ComposeClient(http)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenStore, ComposeClient]]:
    with _serving(tmp_path_factory.mktemp("patterns") / "store") as both:
        yield both


@pytest.fixture
def scene(serving: tuple[OpenStore, ComposeClient]) -> Scene:
    store, client = serving
    return Scene(store, client.on_a_branch())


@pytest.fixture
def mined(scene: Scene) -> Scene:
    """Twelve conversations with one pattern."""
    twelve_conversations(scene.store.repo, OWNER, scene.branch)
    scene.extract()
    return scene


def test_seven_of_eight_runs_are_counted(mined: Scene) -> None:
    pattern = mined.pattern()
    assert [step["action"] for step in pattern["steps"]] == list(FIX)
    assert [step["order"] for step in pattern["steps"]] == [1, 2, 3]
    assert (pattern["successRate"], pattern["executionCount"]) == (7 / 8, 8)
    assert pattern["trigger"] == {"type": "context", "value": "grep"}
    assert pattern["metadata"]["known"] == 8
    assert pattern["patternType"] == "tool_sequence"
    assert pattern["agentWallet"] == WALLET
    assert pattern["lastExecuted"] > 0
    again = mined.client.ok("patterns_get", patternId=pattern["patternId"], agentWallet=WALLET)
    assert again["pattern"] == pattern


def test_later_turns_are_counted_without_another_extraction(mined: Scene) -> None:
    before = mined.pattern()
    for _ in range(2):
        mined.thread("late", asked(), *called(*FIX))
    after = mined.pattern()
    assert (after["executionCount"], after["metadata"]["known"]) == (10, 10)
    assert after["lastExecuted"] >= before["lastExecuted"]
    assert after["successRate"] == 0.8  # the first of the two was followed by the same run


def test_extracting_again_writes_nothing(mined: Scene) -> None:
    again = mined.extract()
    assert (again.added, again.present, again.commit) == ((), 1, None)


def test_one_revert_takes_an_extraction_back(scene: Scene) -> None:
    twelve_conversations(scene.store.repo, OWNER, scene.branch)
    extracted = scene.extract()
    assert len(extracted.added) == 1
    scene.client.day1("memory_revert", commit=extracted.commit)
    assert scene.client.ok("patterns_list", agentWallet=WALLET)["patterns"] == []


def test_a_pattern_is_validated_and_promoted_to_one_skill(mined: Scene) -> None:
    pattern = mined.pattern()["patternId"]
    validation = mined.client.ok("patterns_validate", patternId=pattern)
    assert validation == {
        "valid": True,
        "confidence": 0.529112,
        "occurrences": 8,
        "successRate": 0.875,
        "toolSequence": list(FIX),
    }
    promote = {"patternId": pattern, "validationData": validation}
    skill = mined.client.ok("patterns_promote", skillName="Fix a bug", **promote)
    assert skill["promoted"] is True
    other = mined.client.send("patterns_promote", skillName="Mend it", **promote)
    assert other.json() == skill
    assert "another name" in other.headers["Day1-Notes"]
    (listed,) = mined.client.ok("skills_list", agentWallet=WALLET)["skills"]
    assert listed["skillId"] == skill["skillId"]
    assert (listed["name"], listed["description"]) == ("Fix a bug", "grep \u2192 edit \u2192 test")
    assert (listed["successRate"], listed["usageCount"], listed["agents"]) == (0.875, 0, [])
    assert (listed["creator"], listed["verification"]) == (WALLET, "unverified")
    assert mined.client.ok("skills_get", skillId=skill["skillId"], agentWallet=WALLET) == {"skill": listed}  # fmt: skip


def test_uses_are_the_runs_since_the_promotion(mined: Scene) -> None:
    pattern = mined.pattern()["patternId"]
    mined.client.ok("patterns_promote", patternId=pattern, skillName="Fix", validationData=FORGED)
    mined.thread("new", asked(), *called(*FIX), asked(), asked(), *called(*FIX))
    mined.thread("mine", asked(), *called(*FIX), owner=Owner(WALLET, "ann"))
    mined.thread("theirs", asked(), *called(*FIX), owner=Owner("0xb2"))
    (skill,) = mined.client.ok("skills_list", agentWallet=WALLET)["skills"]
    assert (skill["usageCount"], skill["agents"]) == (3, [WALLET])


def test_forged_validation_data_promotes_nothing(scene: Scene) -> None:
    for name in ("t0", "t1"):
        scene.thread(name, asked(), *called(*FIX))
    scene.extract()
    pattern = scene.pattern()["patternId"]
    scene.thread("t0", asked("Still wrong."), *called(*FIX))
    scene.thread("t1", asked("Still wrong."), *called(*FIX, status="failed"))
    assert scene.client.ok("patterns_validate", patternId=pattern)["valid"] is False
    promote = {"patternId": pattern, "skillName": "Fix", "validationData": FORGED}
    assert scene.client.problems("patterns_promote", **promote) == ["patternId"]
    assert scene.client.ok("skills_list", agentWallet=WALLET)["skills"] == []


def test_an_unknown_pattern(mined: Scene) -> None:
    nothing = {"valid": False, "confidence": 0, "occurrences": 0, "successRate": 0, "toolSequence": []}  # fmt: skip
    assert mined.client.ok("patterns_validate", patternId="fact_none") == nothing
    mined.client.refused(404, "patterns_get", patternId="fact_none", agentWallet=WALLET)
    mined.client.refused(404, "skills_get", skillId="fact_none", agentWallet=WALLET)
    promote = {"patternId": "fact_none", "skillName": "x", "validationData": FORGED}
    assert mined.client.problems("patterns_promote", **promote) == ["patternId"]


def test_another_wallet_sees_neither_pattern_nor_skill(mined: Scene) -> None:
    pattern = mined.pattern()["patternId"]
    promote = {"patternId": pattern, "skillName": "Fix", "validationData": FORGED}
    for wallet in ("0xb2", f"{WALLET}/user:ann", WALLET.upper()):
        mined.client.refused(404, "patterns_get", patternId=pattern, agentWallet=wallet)
        assert mined.client.ok("patterns_list", agentWallet=wallet)["patterns"] == []
        assert mined.client.problems("patterns_promote", **promote, agentWallet=wallet) == ["patternId"]  # fmt: skip
    assert mined.client.ok("patterns_list")["patterns"] == []
    skill = mined.client.ok("patterns_promote", **promote)["skillId"]
    mined.client.refused(404, "skills_get", skillId=skill, agentWallet="0xb2")
    assert mined.client.ok("skills_list", agentWallet="0xb2")["skills"] == []


def test_rates_come_from_no_other_wallets_threads(mined: Scene) -> None:
    for number in range(5):
        mined.thread(f"bad{number}", asked(), *called(*FIX, status="error"), owner=Owner("0xb2"))
    assert mined.pattern()["executionCount"] == 8
    assert len(mined.extract(Owner("0xb2")).added) == 1
    (theirs,) = mined.client.ok("patterns_list", agentWallet="0xb2")["patterns"]
    assert (theirs["successRate"], theirs["executionCount"]) == (0, 5)


def test_a_protected_branch_takes_no_promotion_and_a_review_does_it(mined: Scene) -> None:
    pattern = mined.pattern()["patternId"]
    promote = {"patternId": pattern, "skillName": "Fix", "validationData": FORGED}
    mined.client.day1("memory_branch_create", branch_name=f"{mined.branch}/skill", parent_branch=mined.branch)  # fmt: skip
    mined.client.day1("memory_branch_protect", branch_name=mined.branch, requires=["review"])
    mined.client.refused(403, "patterns_promote", **promote)
    aside = ComposeClient(mined.client.http, **{"Day1-Branch": f"{mined.branch}/skill"})
    skill = aside.ok("patterns_promote", **promote)["skillId"]
    review = mined.client.day1("review_open", source_branch=aside.headers["Day1-Branch"], target_branch=mined.branch)  # fmt: skip
    assert mined.client.ok("skills_list", agentWallet=WALLET)["skills"] == []
    mined.client.day1("review_merge", review_id=review["id"])
    (listed,) = mined.client.ok("skills_list", agentWallet=WALLET)["skills"]
    assert (listed["skillId"], listed["successRate"]) == (skill, 0.875)


def test_a_skill_that_was_archived_or_removed_does_not_come_back(mined: Scene) -> None:
    promote = {"patternId": mined.pattern()["patternId"], "skillName": "Fix", "validationData": FORGED}  # fmt: skip
    skill = mined.client.ok("patterns_promote", **promote)["skillId"]
    repo, branch = mined.store.repo, find(mined.store.repo, mined.branch)
    update(repo, branch, Correction(skill, {"status": "archived"}), Origin("ann"))
    again = mined.client.send("patterns_promote", **promote)
    assert again.json() == {"skillId": skill, "promoted": False}
    assert "archived" in again.headers["Day1-Notes"]
    mined.client.refused(404, "skills_get", skillId=skill, agentWallet=WALLET)
    remove(repo, branch, Removal([skill], "wrong"), Origin("ann"))
    again = mined.client.send("patterns_promote", **promote)
    assert again.json() == {"skillId": skill, "promoted": False}
    assert "removed" in again.headers["Day1-Notes"]


def test_a_redacted_pattern_hides_its_skill(scene: Scene) -> None:
    for name in ("t0", "t1"):
        scene.thread(name, asked(), *called("sign", "send"))
    scene.extract()
    pattern = scene.pattern()["patternId"]
    promote = {"patternId": pattern, "skillName": "Send", "validationData": FORGED}
    skill = scene.client.ok("patterns_promote", **promote)["skillId"]
    scene.client.ok("skills_get", skillId=skill, agentWallet=WALLET)
    scene.client.day1("memory_redact", id=pattern, confirm=pattern, reason="gone")
    scene.client.refused(404, "patterns_get", patternId=pattern, agentWallet=WALLET)
    scene.client.refused(404, "skills_get", skillId=skill, agentWallet=WALLET)


def test_lists_are_filtered_and_limited(mined: Scene) -> None:
    for number in range(2):
        mined.thread(f"s{number}", asked(), *called("search", "open", status=None))
    mined.extract()
    both = mined.client.ok("patterns_list", agentWallet=WALLET)["patterns"]
    assert [p["summary"] for p in both] == ["grep \u2192 edit \u2192 test", "search \u2192 open"]
    assert both[1]["metadata"]["known"] == 0
    assert mined.client.ok("patterns_list", agentWallet=WALLET, limit=1)["patterns"] == both[:1]
    assert mined.pattern(minSuccessRate=0.875) == both[0]
    assert (
        mined.client.ok("patterns_list", agentWallet=WALLET, minSuccessRate=0.88)["patterns"] == []
    )
    assert (
        mined.client.ok("patterns_list", agentWallet=WALLET, patternType="routine")["patterns"]
        == []
    )
    assert len(mined.client.ok("patterns_list", agentWallet=WALLET, patternType="tool_sequence")["patterns"]) == 2  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "arguments", "problem"),
    [
        ("patterns_list", {"limit": 0}, "limit"),
        ("patterns_list", {"limit": 201}, "limit"),
        ("patterns_list", {"minSuccessRate": "NaN"}, "minSuccessRate"),
        ("patterns_list", {"minSuccessRate": 1.1}, "minSuccessRate"),
        ("patterns_list", {"patternType": "habit"}, "patternType"),
        ("patterns_list", {"agentWallet": "w" * 300}, "agentWallet"),
        ("skills_list", {"limit": -1}, "limit"),
        ("patterns_promote", {"patternId": "x", "skillName": " ", "validationData": FORGED}, "skillName"),
        ("patterns_promote", {"patternId": "x", "skillName": "s"}, "validationData"),
    ],
)  # fmt: skip
def test_bad_input_is_named(
    serving: tuple[OpenStore, ComposeClient],
    operation: str,
    arguments: dict[str, Any],
    problem: str,
) -> None:
    assert serving[1].problems(operation, **arguments) == [problem]
