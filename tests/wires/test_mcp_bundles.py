"""Bundles over MCP: knowledge for other branches, and as a file for other stores."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.model.records.sharing import Bundle
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, OBSERVATION, RELATION
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.sharing.bundles import deprecate_bundle, export_bundle, take_bundle
from tests.engine import compact
from tests.flows.opened_store import opened, refused
from tests.wires.conftest import Fork, Write
from tests.wires.mcp_session import ISO, Session
from tests.wires.other_processes import judge, rows

NULLABLE = "string|null = null"
MARK = "Hmm-79"
"""A thought, which is for nobody else."""


def make(core: Session, branch: str, **more: Any) -> dict[str, Any]:
    return core.ok("knowledge_bundle_create", name=f"of {branch}", source_branch=branch, **more)


def bring(core: Session, bundle: dict[str, Any], branch: str) -> dict[str, Any]:
    return core.ok("knowledge_bundle_import", bundle_id=bundle["id"], target_branch=branch)


def numbers(done: dict[str, Any]) -> tuple[int, ...]:
    """Facts, relations, conversations and messages imported, and what was skipped."""
    names = ("facts", "relations", "conversations", "messages")
    return (*(int(done[f"{name}_imported"]) for name in names), int(done["skipped"]))


def exported(core: Session, bundle: dict[str, Any]) -> list[bytes]:
    """The lines of the bundle's file."""
    with opened(core.folder) as store:
        return list(export_bundle(store.repo, bundle["id"]))


def take(core: Session, lines: list[bytes]) -> str:
    """Take a file into the store; gives the bundle's id."""
    with opened(core.folder) as store:
        return take_bundle(store.repo, lines, 2_000_000_000_000_000).id


@pytest.fixture
def known(core: Session, branch: str, write: Write) -> dict[str, str]:
    """What the branch knows: two verified facts, one of them edited, others, and a talk."""
    facts = {text: write(branch, text, agent_id="ada") for text in ("Tea.", "Mate.", "Ale.", "Gin")}
    core.ok(
        "memory_update_fact", fact_id=facts["Tea."], category="drinks", branch=branch, agent_id="bo"
    )
    judge(core, branch, "verified", facts["Tea."], facts["Mate."])
    judge(core, branch, "invalidated", facts["Ale."])
    core.ok(
        "memory_write_relation",
        source_entity="Ada",
        relation_type="drinks",
        target_entity="tea",
        branch=branch,
    )
    core.ok("memory_write_observation", observation_type="insight", summary="Seen.", branch=branch)
    talk = core.ok(
        "memory_log_message", role="user", content="Who?", thinking=f"{MARK}", branch=branch
    )
    return {**facts, "talk": talk["conversation_id"], "message": talk["message_id"]}


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A server on another store."""
    with Session(tmp_path_factory.mktemp("far") / "store") as session:
        session.ok("memory_write_fact", fact_text="Of this store.")
        yield session


@pytest.mark.line("S1-084", "S1-085", "S1-086")
def test_bundles_take_the_seeds_arguments(core: Session) -> None:
    assert core.takes("knowledge_bundle_create") == {
        "name": "string!",
        "source_branch": "string!",
        "description": NULLABLE,
        "tags": "[string]|null = null",
        "only_verified": "boolean|null = true",
    }
    assert core.takes("knowledge_bundle_import") == {
        "bundle_id": "string!",
        "target_branch": "string!",
    }
    assert core.takes("knowledge_bundle_list") == {
        "status": 'active|deprecated|null = "active"',
        "limit": "integer|null 1..200 = 20",
    }


@pytest.mark.line("S1-084", "S1-086")
def test_a_bundle_says_what_it_holds(core: Session, branch: str, known: dict[str, str]) -> None:
    made = make(core, branch, description="Drinks.", tags=["kitchen"])
    read = made.pop("read")
    lines = exported(core, made)
    assert ISO.fullmatch(made["created_at"])
    assert made == {
        "id": made["id"],
        "name": f"of {branch}",
        "description": "Drinks.",
        "tags": ["kitchen"],
        "source_branch": branch,
        "source_commit": read["commit"],
        "only_verified": True,
        "fact_count": 2,
        "relation_count": 0,
        "conversation_count": 1,
        "message_count": 1,
        "sha256": hashlib.sha256(b"".join(lines[1:])).hexdigest(),
        "status": "active",
        "created_at": made["created_at"],
    }
    assert made["id"].startswith("bundle_")
    assert core.ok("knowledge_bundle_list", limit=1)["bundles"] == [made]
    every = make(core, branch, only_verified=False)
    assert [every[f"{k}_count"] for k in ("fact", "relation", "conversation", "message")] == [
        4,
        1,
        1,
        1,
    ]
    assert every["sha256"] != made["sha256"]


@pytest.mark.line("S1-084")
def test_a_bundle_without_facts_says_why(core: Session, branch: str, write: Write) -> None:
    write(branch, "Not judged.")
    (note,) = make(core, branch)["read"]["notes"]
    assert "verify_batch" in note
    assert make(core, branch, only_verified=False)["read"]["notes"] == []
    core.refused("knowledge_bundle_create", "unknown_branch", name="x", source_branch="nowhere")


@pytest.mark.line("S1-086")
def test_bundles_are_listed_by_status_newest_first(core: Session, branch: str) -> None:
    ids = [make(core, branch)["id"] for _ in range(3)]

    def listed(**given: Any) -> list[str]:
        return [b["id"] for b in core.ok("knowledge_bundle_list", **given)["bundles"]]

    assert listed(limit=3) == ids[::-1]
    assert listed(limit=2) == ids[:0:-1]
    with opened(core.folder) as store:
        deprecate_bundle(store.repo, ids[1])
    assert listed(limit=2) == [ids[2], ids[0]]
    assert listed(status="deprecated", limit=1) == [ids[1]]


@pytest.mark.line("S1-085")
def test_an_import_copies_rows_as_they_are_and_once(
    core: Session, branch: str, known: dict[str, str], fork: Fork
) -> None:
    made, target = make(core, branch), fork()
    first = bring(core, made, target)
    assert numbers(first) == (2, 0, 1, 1, 0)
    assert first["left"] == []
    commit = first["written"]["commit"]
    there, here = rows(core, branch, FACT), rows(core, target, FACT)
    assert here == {known[t]: there[known[t]] for t in ("Tea.", "Mate.")}
    assert rows(core, target, CONVERSATION) == rows(core, branch, CONVERSATION)
    assert rows(core, target, MESSAGE) == rows(core, branch, MESSAGE)
    assert rows(core, target, RELATION) == rows(core, target, OBSERVATION) == {}
    edits = {i: e for i, e in rows(core, branch, EDIT).items() if e["row_id"] in here}
    assert rows(core, target, EDIT) == edits

    again = bring(core, made, target)
    assert numbers(again) == (0, 0, 0, 0, 4)
    assert again["left"] == []
    assert again["written"]["commit"] == commit, "nothing new, no commit"
    whole = make(core, branch, only_verified=False)
    assert numbers(bring(core, whole, target)) == (2, 1, 0, 0, 4)


@pytest.mark.line("S1-085")
def test_what_the_target_has_otherwise_or_removed_is_left_and_listed(
    core: Session, branch: str, known: dict[str, str], fork: Fork
) -> None:
    made, target = make(core, branch), fork()
    bring(core, made, target)
    core.ok("memory_update_fact", fact_id=known["Tea."], fact_text="Mine.", branch=target)
    core.ok("memory_retract_fact", fact_id=known["Mate."], branch=target)
    done = bring(core, made, target)
    assert numbers(done) == (0, 0, 0, 0, 2)
    left = {row["id"]: row["why"] for row in done["left"]}
    assert left == {known["Tea."]: "conflict", known["Mate."]: "removed"}
    facts = rows(core, target, FACT)
    assert facts.keys() == {known["Tea."]}
    assert facts[known["Tea."]]["fact_text"] == "Mine."


@pytest.mark.line("S1-084", "S1-085")
def test_a_bundle_holds_what_was_known_when_it_was_made(
    core: Session, known: dict[str, str], branch: str, fork: Fork
) -> None:
    source = fork(branch)
    made = make(core, source)
    before = exported(core, made)
    core.ok("memory_update_fact", fact_id=known["Tea."], fact_text="Other.", branch=source)
    core.ok("memory_retract_fact", fact_id=known["Mate."], branch=source)
    with opened(core.folder) as store:
        delete(store.repo, find(store.repo, source), "main", 1)
        compact(store.repo.store, core.folder)
    assert exported(core, made) == before
    target = fork()
    assert numbers(bring(core, made, target)) == (2, 0, 1, 1, 0)
    assert rows(core, target, FACT)[known["Tea."]]["fact_text"] == "Tea."


@pytest.mark.line("S1-085")
def test_what_cannot_be_imported_is_refused(
    core: Session, branch: str, known: dict[str, str]
) -> None:
    made = make(core, branch)
    closed = core.ok("memory_template_create", name=branch, source_branch=branch)["branch_name"]
    for bundle, target, code in (
        ("bundle_x", branch, "not_found"),
        (made["id"], "nowhere", "unknown_branch"),
        (made["id"], closed, "branch_closed"),
    ):
        core.refused("knowledge_bundle_import", code, bundle_id=bundle, target_branch=target)


@pytest.mark.line("S1-087")
def test_a_bundle_is_a_file_that_says_and_proves_what_it_holds(
    core: Session, branch: str, known: dict[str, str]
) -> None:
    made = make(core, branch, tags=["kitchen"])
    first, *rest = exported(core, made)
    head = json.loads(first)
    assert (head["format"], head["version"]) == ("day1-bundle", 1)
    for key in ("id", "name", "description", "tags", "source_branch", "source_commit", "sha256"):
        assert head[key] == made[key], key
    assert head["counts"] == {k: made[k] for k in made if k.endswith("_count")}
    kinds = [json.loads(line)["kind"] for line in rest]
    assert {k: kinds.count(k) for k in ("facts", "conversations", "messages")} == {
        "facts": 2,
        "conversations": 1,
        "messages": 1,
    }
    assert MARK.encode() not in b"".join([first, *rest]), "nobody's thinking is carried"
    assert exported(core, made) == [first, *rest]


@pytest.mark.line("S1-085", "S1-087")
def test_a_file_carries_knowledge_to_another_store(
    core: Session, branch: str, known: dict[str, str], far: Session
) -> None:
    made = make(core, branch, description="Drinks.", only_verified=False)
    lines = exported(core, made)
    assert take(far, lines) == made["id"]
    (there,) = far.ok("knowledge_bundle_list", limit=1)["bundles"]
    assert there == {key: value for key, value in made.items() if key != "read"}
    assert exported(far, made) == lines, "byte for byte"

    assert far.found("memory_search", query="mate") == []
    assert numbers(bring(far, made, "main")) == (4, 1, 1, 1, 0)
    (hit,) = far.found("memory_search", query="mate")
    assert (hit["id"], hit["verification"]) == (known["Mate."], "verified")
    (message,) = far.found("memory_search_messages", query="who")
    assert message["message_id"] == known["message"]
    assert rows(far, "main", FACT)[known["Tea."]] == rows(core, branch, FACT)[known["Tea."]]

    before = far.everything([])
    assert take(far, lines) == made["id"], "a second time it is there already"
    assert far.everything([]) == before
    (own,) = [r for r in before["refs"] if r.startswith("bundle/")]
    far.refused("memory_write_fact", "branch_closed", fact_text="x", branch=own)
    back = bring(core, made, branch)
    assert (numbers(back), back["left"]) == ((0, 0, 0, 0, 7), [])


@pytest.mark.line("S1-087")
def test_a_fact_that_was_once_removed_is_carried_too(
    core: Session, branch: str, known: dict[str, str], far: Session
) -> None:
    gone = core.ok("memory_retract_fact", fact_id=known["Mate."], branch=branch)
    core.ok("memory_restore", **gone["restore"])
    made = make(core, branch)
    lines = exported(core, made)
    take(far, lines)
    assert exported(far, made) == lines
    target = f"{branch}/far"
    far.ok("memory_branch_create", branch_name=target)
    assert known["Mate."] not in rows(far, target, FACT)
    done = bring(far, made, target)
    assert known["Mate."] in rows(far, target, FACT), done


def other_head(line: bytes, **changed: Any) -> bytes:
    """The header with other values and a checksum that fits them."""
    head = {**json.loads(line), **changed}
    del head["checksum"]
    head["checksum"] = hashlib.sha256(canonical_line(head)).hexdigest()
    return canonical_line(head)


def canonical_line(head: dict[str, Any]) -> bytes:
    """As day1 writes."""
    return (
        json.dumps(head, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )


@pytest.mark.line("S1-087")
def test_a_file_that_is_not_whole_or_not_itself_is_refused_by_line(
    core: Session, branch: str, known: dict[str, str], tmp_path: Path
) -> None:
    made = make(core, branch)
    lines = exported(core, made)
    head, last = lines[0], len(lines)
    row = next(n for n, line in enumerate(lines) if b'"Tea."' in line)
    counts = {**json.loads(head)["counts"], "fact_count": 3}

    def with_row(old: bytes, new: bytes) -> list[bytes]:
        assert old in lines[row]
        return [*lines[:row], lines[row].replace(old, new), *lines[row + 1 :]]

    broken: list[tuple[list[bytes], int]] = [
        ([], 1),
        (lines[1:], 1),
        (lines[:-1], last),
        ([*lines[:-1], lines[-1][:-9]], last),
        ([*lines, lines[-1]], last + 2),
        (with_row(b"Tea.", b"Sea."), row + 1),
        (with_row(b'"drinks"', b'"drunks"'), 1),
        (with_row(b'"ada"', b"7"), row + 1),
        (with_row(b'"category"', b'"kategory"'), row + 1),
        ([head.replace(made["id"].encode(), b"bundle_01JD0000000000000000000000"), *lines[1:]], 1),
        ([head.replace(b'"only_verified":true', b'"only_verified":false'), *lines[1:]], 1),
        ([other_head(head, version=9), *lines[1:]], 1),
        ([other_head(head, counts=counts), *lines[1:]], last + 1),
        ([other_head(head, sha256="0" * 64), *lines[1:]], 1),
    ]
    with opened(tmp_path / "store", create=True) as store:
        before = store.repo.history.branches(), store.repo.ledger.branches()
        for number, (file, line) in enumerate(broken):
            error = refused(lambda f=file: take_bundle(store.repo, f, 1), "import_broken")  # type: ignore[misc]  # bound for each
            assert error.details == {"line": line}, number
            assert f"Line {line} " in str(error)
        assert (store.repo.history.branches(), store.repo.ledger.branches()) == before
        assert store.repo.ledger.records(Bundle) == []
        assert take_bundle(store.repo, lines, 1).id == made["id"], "the whole one is taken"


@pytest.mark.line("S1-087")
def test_another_bundle_of_the_same_id_is_refused(
    core: Session, branch: str, known: dict[str, str], tmp_path: Path
) -> None:
    made, other = make(core, branch), make(core, branch, only_verified=False)
    lines, others = exported(core, made), exported(core, other)
    forged = [other_head(others[0], id=made["id"]), *others[1:]]
    with opened(tmp_path / "store", create=True) as store:
        take_bundle(store.repo, lines, 1)
        before = store.repo.history.branches()
        refused(lambda: take_bundle(store.repo, forged, 1), "conflict", "another bundle")
        assert store.repo.history.branches() == before
        assert list(export_bundle(store.repo, made["id"])) == lines
