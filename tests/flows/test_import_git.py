"""`day1 import git`: a real history becomes memory, once, whatever happens in between."""

from pathlib import Path

import pytest

from day1.adapters.sources.git import GitSource, is_bot
from day1.errors import BranchClosed, InvalidRequest, NotFound, UnknownBranch
from day1.services.branches import lookup
from day1.services.exchange import importing
from tests.flows.git_repository import GitRepository
from tests.flows.imported_memory import ImportedMemory, Stopped


@pytest.fixture
def git(tmp_path):
    return GitRepository(tmp_path / "project")


def test_a_commit_becomes_an_observation_and_its_relations(memory, git):
    commit = git.commit(
        "Retry uploads\n\nThe gateway drops one in ten.", {"up.py": "1", "docs/über.md": "2"}
    )
    imported = memory.take(GitSource(git.folder))
    assert (imported.added, imported.changed, imported.left) == (4, 0, [])
    (observation,) = memory.observations()
    assert observation["summary"] == (
        "Retry uploads\n\nThe gateway drops one in ten.\n\n"
        "Author: Ada Lovelace. Files: docs/über.md, up.py"
    )
    assert observation["happened_at"] == git.authored(1) * 1_000_000
    assert observation["created_at"] >= memory.clock()
    assert (observation["source"], observation["agent_id"]) == ("import", "ada")
    assert observation["raw_input"] == f"git show {commit}"
    entity = f"commit {commit[:12]}"
    assert memory.triples() == {
        (entity, "authored_by", "Ada Lovelace"),
        ("Ada Lovelace", "touches", "up.py"),
        ("Ada Lovelace", "touches", "docs/über.md"),
    }
    assert memory.reports[-1] == (1, 1)


def test_a_second_run_adds_only_what_is_new(memory, git):
    git.commit("One", {"a": "1"})
    git.git("tag", "v1")
    first = memory.take(GitSource(git.folder))
    tip = memory.store.commit_pending("main")
    second = memory.take(GitSource(git.folder))
    assert (second.added, second.changed, second.unchanged) == (0, 0, first.added)
    assert memory.store.commit_pending("main") == tip
    git.commit("Two", {"a": "2"})
    third = memory.take(GitSource(git.folder))
    assert (third.added, third.unchanged) == (3, first.added)


def test_a_subfolder_names_its_repository(memory, git):
    git.commit("One", {"deep/er/a": "1"})
    assert memory.take(GitSource(git.folder / "deep" / "er")).added == 3


def test_tags_of_this_history_become_facts_and_a_moved_one_is_a_change(memory, git):
    commit = git.commit("One", {"a": "1"})
    git.git("tag", "-a", "v1", "-m", "First release\n\nIt works. <ada@example.com>")
    git.git("tag", "latest")
    git.git("tag", "a-file", git.git("hash-object", "-w", "a"))
    git.git("switch", "-q", "-c", "aside")
    git.commit("Aside")
    git.git("tag", "elsewhere")
    git.git("switch", "-q", "main")
    memory.take(GitSource(git.folder))
    short = commit[:12]
    assert {fact["fact_text"] for fact in memory.facts()} == {
        f"Tag v1 of 2023-11-15 marks commit {short}: First release\n\nIt works.",
        f"Tag latest of 2023-11-15 marks commit {short}: One",
    }
    assert {fact["happened_at"] for fact in memory.facts()} == {git.authored(1) * 1_000_000}
    git.commit("Two")
    git.git("tag", "-f", "latest")
    assert memory.take(GitSource(git.folder)).changed == 1
    moved = next(f for f in memory.facts() if f["fact_text"].startswith("Tag latest"))
    assert moved["fact_text"].endswith(": Two")
    assert {edit["agent_id"] for edit in memory.edits()} == {"import"}


def test_one_tag_name_in_two_repositories_is_two_facts(memory, git, tmp_path):
    other = GitRepository(tmp_path / "other")
    for repository, message in ((git, "Here"), (other, "There")):
        repository.commit(message)
        repository.git("tag", "v1")
        memory.take(GitSource(repository.folder))
    assert len(memory.facts()) == 2
    assert memory.take(GitSource(git.folder)).changed == 0


def test_merges_and_bots_are_left_out_and_people_stay(memory, git):
    git.commit("Start", {"a": "1"})
    git.git("switch", "-q", "-c", "side")
    git.commit("Side", {"b": "1"}, "Jan Bot", "123+jan@users.noreply.github.com")
    git.git("switch", "-q", "main")
    git.commit("Bump", {"a": "2"}, "dependabot[bot]", "49+dependabot[bot]@users.noreply.github.com")
    git.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    memory.take(GitSource(git.folder))
    subjects = [o["summary"].split("\n")[0] for o in memory.observations()]
    assert subjects == ["Start", "Side"]
    assert memory.reports[-1] == (3, 3)


@pytest.mark.parametrize(
    ("name", "email", "bot"),
    [
        ("renovate[bot]", "29139614+renovate[bot]@users.noreply.github.com", True),
        ("Renovate Bot", "bot@renovateapp.com", True),
        ("pre-commit-ci", "x@example.com", True),
        ("release-bot", "release@example.com", True),
        ("GitHub Actions", "github-actions@github.com", True),
        ("Kubernetes Prow Robot", "ci@example.com", True),
        ("Ada", "noreply@example.com", False),
        ("John Talbot", "talbot@example.com", False),
        ("Bot", "jan.bot@example.com", False),
        ("An Agent", "agent@example.com", False),
    ],
)
def test_a_commit_is_a_bots_by_its_authors_name_or_address(name, email, bot):
    assert is_bot(name, email) is bot


def test_an_observation_names_twenty_files_and_each_has_its_relation(memory, git):
    git.commit("Many", {f"f{n:02}": "x" for n in range(23)})
    memory.take(GitSource(git.folder))
    (observation,) = memory.observations()
    assert observation["summary"].endswith("f18, f19 and 3 more")
    assert len(memory.triples()) == 24


def test_odd_commits_are_read_whole(memory, git):
    git.commit("", {"a\nb": "1", "\nc": "1", "d e": "1", "x" * 200 + "/" + "y" * 100: "1"})
    git.commit("Nothing touched")
    git.commit("Last\x1fone\n\na\x1ebody", {"a": "1"}, "É", "e@example.com")
    imported = memory.take(GitSource(git.folder))
    assert imported.added == 3 + 3 + 5
    summaries = [o["summary"] for o in memory.observations()]
    assert summaries[0].startswith("(no message)\n\nAuthor: Ada Lovelace. Files: ")
    assert summaries[1] == "Nothing touched\n\nAuthor: Ada Lovelace."
    assert summaries[2] == "Last\x1fone\n\na\x1ebody\n\nAuthor: É. Files: a"
    touched = {end for _, kind, end in memory.triples() if kind == "touches"}
    assert {"a\nb", "\nc", "d e", "a"} < touched


def test_no_e_mail_address_is_kept(memory, git):
    git.commit("One <x@example.com>\n\nBody\n\nCo-authored-by: Bob <bob@example.com>", {"a": "1"})
    git.git("tag", "-a", "v1", "-m", "Made by <ada@example.com>")
    memory.take(GitSource(git.folder))
    assert "example.com" not in str(memory.contents())
    assert "Co-authored-by: Bob" in memory.observations()[0]["summary"]


def test_settings_and_surroundings_of_git_do_not_matter(memory, git, tmp_path, monkeypatch):
    git.commit("One", {"a": "1"})
    git.git("config", "log.showRoot", "false")
    git.git("config", "log.showSignature", "true")
    other = GitRepository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    memory.take(GitSource(git.folder))
    assert {end for _, _, end in memory.triples()} == {"Ada Lovelace", "a"}


def test_a_shallow_clone_says_nothing_of_the_files_where_it_ends(memory, git, tmp_path):
    git.commit("One", {"a": "1", "b": "1"})
    git.commit("Two", {"a": "2"})
    git.git("clone", "-q", "--depth", "1", f"file://{git.folder}", str(tmp_path / "shallow"))
    assert memory.take(GitSource(tmp_path / "shallow")).added == 2
    later = memory.take(GitSource(git.folder))
    assert (later.added, later.changed) == (5, 1)


def test_what_cannot_be_imported_is_said(memory, git, tmp_path):
    with pytest.raises(InvalidRequest, match="no commits"):
        GitSource(git.folder)
    (tmp_path / "plain").mkdir()
    with pytest.raises(InvalidRequest, match="no git repository"):
        GitSource(tmp_path / "plain")
    with pytest.raises(NotFound):
        GitSource(tmp_path / "nowhere")
    git.commit("One")
    with pytest.raises(UnknownBranch):
        memory.take(GitSource(git.folder), "nowhere")
    memory.fork("done", "main")
    memory.repo.ledger.put_branch(lookup.find(memory.repo, "done").with_notes(closed=True))
    with pytest.raises(BranchClosed):
        memory.take(GitSource(git.folder), "done")


def test_a_broken_history_keeps_what_came_before(memory, git, monkeypatch):
    monkeypatch.setattr(importing, "UNIT_ROWS", 2)
    git.commit("One", {"a": "1"})
    tree = git.git("rev-parse", git.commit("Two", {"b": "1"}) + "^{tree}")
    (git.folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(InvalidRequest, match="could not read") as failed:
        memory.take(GitSource(git.folder))
    assert failed.value.details["added"] == len(memory.contents())


def test_a_stopped_import_goes_on(memory, git, tmp_path, monkeypatch):
    for number in range(5):
        git.commit(f"Commit {number}", {"a": str(number)})
    monkeypatch.setattr(importing, "UNIT_ROWS", 4)
    with pytest.raises(Stopped):
        memory.take(GitSource(git.folder), stop_after=2)
    assert len(memory.contents()) == 8
    rest = memory.take(GitSource(git.folder))
    assert (rest.added, rest.unchanged) == (7, 8)
    at_once = ImportedMemory(tmp_path / "other store")
    at_once.take(GitSource(git.folder))
    assert memory.contents() == at_once.contents()
    at_once.close()


def test_the_past_does_not_know_what_was_imported_today(memory, git):
    before = memory.clock()
    git.commit("Old", {"a": "1"})
    git.git("tag", "v1")
    memory.clock.tick()
    memory.take(GitSource(git.folder))
    assert memory.state("main", before)["facts"] == {}
    assert len(memory.state("main")["facts"]) == 1


def test_each_unit_is_one_import_commit(memory, git, monkeypatch):
    monkeypatch.setattr(importing, "UNIT_ROWS", 3)
    git.commit("One", {"a": "1"})
    git.commit("Two", {"a": "2"})
    memory.take(GitSource(git.folder))
    commits = [c for c in memory.store.history.log("main") if c.op == "import"]
    assert [c.line for c in commits] == ["import 3 rows", "import 3 rows"]
    assert commits[0].author == "ada"


def test_the_path_may_be_text_of_any_kind(memory, tmp_path):
    git = GitRepository(tmp_path / "--upload-pack=x é")
    git.commit("One", {"a": "1"})
    assert memory.take(GitSource(Path(git.folder))).added == 3
