"""A git history as memory, read through GitPython in one pass of `git log`.

Of each commit: an observation, a `touches` relation per file and an `authored_by` relation; of
each tag of that history a fact. E-mail addresses are not kept.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from typing_extensions import override

from day1.adapters.sources.counting import CountingSource
from day1.errors import InvalidRequest, NotFound, Unsupported
from day1.foreign_files import bytes_of
from day1.model.values.ids import derived_id
from day1.model.values.instant import SECOND
from day1.ports.source import Draft, FactDraft, ObservationDraft, RelationDraft

if TYPE_CHECKING:
    from git import Repo

_MOST_FILES = 20
"""Maximum number of file names in an observation; each file has a relation of its own anyway."""
_MOST_BODY = 4_000
"""Maximum number of characters that are kept of a commit's body."""
_LATEST = 2**47 * 1000 // SECOND
"""Latest date of a commit that fits an id, in seconds since 1970; commits can have any date."""
_BLOCK = 1 << 16

_ALONE = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Settings for an untrusted repository: git does not fetch, write or prompt."""
_NO_PROGRAMS = (
    "log.showRoot=true",  # else the files of the first commit would be hidden
    "log.showSignature=false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
)
"""Overrides of repository settings that would run programs."""

_COMMIT_FIELDS = ("%H", "%at", "%aN", "%aE", "%s", "%b")
_TAG_FIELDS = (
    "%(refname:strip=2)",
    "%(objectname)",
    "%(*objectname)",
    "%(creatordate:unix)",
    "%(contents:subject)",
    "%(contents:body)",
)
_ADDRESS = re.compile(r"(?<!\s)\s*+<[^<>\s][^<>\s@]*+@[^<>\s]++>")
_BOT = re.compile(
    r"\[bot\]|[-_]bot\b|\brobot\b|^bot@|"
    r"\b(?:dependabot|renovate(?:bot)?|greenkeeper|github-actions|pre-commit-ci|mergify|imgbot|"
    r"allcontributors|semantic-release|pyup|codecov|weblate|bors)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Commit:
    hash: str
    at: int | None
    author: str
    email: str
    subject: str
    body: str
    files: tuple[str, ...]

    @property
    def entity(self) -> str:
        return f"commit {self.hash[:12]}"


def is_bot(name: str, email: str) -> bool:
    """Say whether an author is a program and not a person or an agent at work.

    The rule: the name or the e-mail address holds `[bot]` or a word that ends in `-bot` or
    `_bot`, is at `bot@`, or holds the word `robot` or the name of a known service (dependabot,
    renovate, github-actions, pre-commit-ci, …). A `noreply` address alone says nothing: people
    hide theirs with it. A person called Bot, Abbot or Talbot stays.
    """
    return bool(_BOT.search(name) or _BOT.search(email))


class GitSource(CountingSource):
    """`ports.source.Source` over the history of a repository's checked-out branch.

    Merges and bots are left out (`is_bot`).
    """

    name = "git"

    def __init__(self, path: Path) -> None:
        """Open the repository that `path` lies in; nothing of it is read yet.

        Raises:
            NotFound: there is no such path.
            InvalidRequest: it is in no git repository, or in one without commits.
            Unsupported: there is no `git` program.
        """
        super().__init__()
        self._repo = _open(path)
        if not self._repo.head.is_valid():
            raise InvalidRequest(
                f"The repository at {path} has no commits on its checked-out "
                "branch yet: check out another branch.",
                path=str(path),
            )

    @override
    def total(self) -> int:
        """Count the commits, those of bots too, and the tags."""
        commit_count = self._run("rev-list", "--count", "--no-merges", "HEAD")
        return int(commit_count) + len(list(self._tags()))

    @override
    def items(self) -> Iterator[list[Draft]]:
        """Yield the drafts of each commit, oldest first, then of each tag."""
        self._left_out.clear()
        if merge_count := int(self._run("rev-list", "--count", "--merges", "HEAD")):
            self.leave_out("merges", f"{merge_count:,} commits")
        for commit in self._commits():
            if is_bot(commit.author, commit.email):
                self.leave_out("commits of bots", commit.hash)
                yield []
            else:
                yield _drafts(commit)
        # Tag names repeat from repository to repository, so a tag's key has the first commit.
        root_hashes = self._run("rev-list", "--max-parents=0", "HEAD").split()
        first_root = min(root_hashes).decode()
        for tag_fields in self._tags():
            *_, subject, body = tag_fields
            self._message((subject, body), f"tag {tag_fields[0]}")
            yield [_tag_draft(first_root, *tag_fields)]

    def _commits(self) -> Iterator[_Commit]:
        cut_off_commits = self._cut_off()
        log_tokens = self._tokens(
            "log",
            "-z",
            "--reverse",
            "--no-merges",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--name-only",
            "--no-show-signature",
            "--no-color",
            "--encoding=UTF-8",
            "--format=tformat:%x00" + "%x00".join(_COMMIT_FIELDS),
            "HEAD",
            "--",
        )
        # NUL ends each field and file name; a record begins with an empty one.
        next(log_tokens, None)
        for commit_hash in log_tokens:
            commit_fields = list(islice(log_tokens, len(_COMMIT_FIELDS) - 1))
            if len(commit_fields) < len(_COMMIT_FIELDS) - 1:
                return  # git broke off in the middle; _tokens has raised what it said
            author_time, author, email, subject, body = commit_fields
            file_names: list[str] = []
            for file_name in log_tokens:
                if not file_name:
                    break
                file_names.append(file_name if file_names else file_name.removeprefix("\n"))
            self._message((body,), commit_hash)
            if file_names and commit_hash in cut_off_commits:
                self.leave_out("files of a commit at which a shallow clone ends", commit_hash)
            yield _Commit(
                commit_hash,
                _instant(author_time),
                author.strip() or "unknown",
                email,
                _without_addresses(subject) or "(no message)",
                _without_addresses(body)[:_MOST_BODY],
                () if commit_hash in cut_off_commits else tuple(dict.fromkeys(file_names)),
            )

    def _message(self, parts: Sequence[str], place: str) -> None:
        """Record that a long message is cut."""
        if len("\n\n".join(filter(None, map(_without_addresses, parts)))) > _MOST_BODY:
            self.leave_out(f"what comes after the first {_MOST_BODY:,} characters", place)

    def _cut_off(self) -> set[str]:
        """Return the commits at which a shallow clone ends: git shows them as adding every file."""
        shallow_file = Path(self._repo.common_dir) / "shallow"
        return (
            set(bytes_of(shallow_file).decode(errors="replace").split())
            if shallow_file.is_file()
            else set()
        )

    def _tags(self) -> Iterator[tuple[str, ...]]:
        """Yield name, commit, date, subject and body of each tag of this history."""
        ref_format = "%00".join(_TAG_FIELDS) + "%00"
        output = self._run("for-each-ref", "--merged=HEAD", f"--format={ref_format}", "refs/tags")
        field_values = [field_value.decode(errors="replace") for field_value in output.split(b"\0")]
        for start in range(0, len(field_values) - len(_TAG_FIELDS), len(_TAG_FIELDS)):
            tag_name, object_id, commit, *other_fields = field_values[
                start : start + len(_TAG_FIELDS)
            ]
            yield (tag_name.removeprefix("\n"), commit or object_id, *other_fields)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        """Return a git command on this repository, whatever GIT_DIR and the user's settings say."""
        program = str(self._repo.git.GIT_PYTHON_GIT_EXECUTABLE)
        git_dir_option = f"--git-dir={self._repo.git_dir}"
        settings = (argument for setting in _NO_PROGRAMS for argument in ("-c", setting))
        return [program, "--no-pager", git_dir_option, *settings, *arguments]

    def _run(self, *arguments: str) -> bytes:
        from git.exc import GitCommandError  # noqa: PLC0415 - see _open

        try:
            output = self._repo.git.execute(self._command(arguments), stdout_as_string=False)
        except GitCommandError as exc:
            raise _unreadable() from exc
        assert isinstance(output, bytes)  # noqa: S101 - what stdout_as_string=False promises
        return output

    def _tokens(self, *arguments: str) -> Iterator[str]:
        """Yield the output of a command, split at NULs; only one block is kept in memory."""
        from git.exc import GitCommandError  # noqa: PLC0415 - see _open

        process = self._repo.git.execute(self._command(arguments), as_process=True)
        try:
            yield from _cut_at_nul(process.stdout)
            process.wait()
        except GitCommandError as exc:
            raise _unreadable() from exc
        finally:
            process.terminate()


def _open(path: Path) -> "Repo":
    if not path.exists():
        raise NotFound(f"There is no {path}.", path=str(path))
    try:
        # Importing it looks for the git program and costs 0.1 s.
        from git import InvalidGitRepositoryError, Repo  # noqa: PLC0415 - see above
    except ImportError as exc:
        raise Unsupported(
            "Importing a git history needs the `git` program, which was not found.",
            instead="install git, or import notes with `day1 import markdown`",
        ) from exc
    try:
        repo = Repo(path, search_parent_directories=True)
    except InvalidGitRepositoryError as exc:
        raise InvalidRequest(
            f"{path} is in no git repository: name a folder of one.", path=str(path)
        ) from exc
    repo.git.update_environment(**_ALONE)
    return repo


def _unreadable() -> InvalidRequest:
    return InvalidRequest(
        "git could not read the history: `git log` in that repository says why (`git fsck` "
        "checks it). What was imported before stays; running it again goes on from there."
    )


def _cut_at_nul(stream: IO[bytes]) -> Iterator[str]:
    unfinished_record = b""
    while block := stream.read(_BLOCK):
        *tokens, unfinished_record = (unfinished_record + block).split(b"\0")
        for token in tokens:
            yield token.decode(errors="replace")


def _instant(seconds: str) -> int | None:
    """Return a commit's date in microseconds UTC; None for a date that cannot be true."""
    try:
        time_s = int(seconds)
    except ValueError:
        return None
    return time_s * SECOND if 0 <= time_s < _LATEST else None


def _without_addresses(text: str) -> str:
    return _ADDRESS.sub("", text).strip()


def _drafts(commit: _Commit) -> list[Draft]:
    return [
        ObservationDraft(
            derived_id("obs", commit.at, GitSource.name, commit.hash),
            "tool_use",
            _summary(commit),
            tool_name="git",
            raw_input=f"git show {commit.hash}",
            happened_at=commit.at,
        ),
        _relation(commit, (commit.entity, "authored_by", commit.author), ""),
        *(
            _relation(commit, (commit.author, "touches", file_name), file_name)
            for file_name in commit.files
        ),
    ]


def _summary(commit: _Commit) -> str:
    """Return a commit's subject, body and author, and up to 20 of its files, as one text."""
    file_names = ", ".join(commit.files[:_MOST_FILES])
    unnamed_count = len(commit.files) - _MOST_FILES
    last_sentences = f"Author: {commit.author}." + (f" Files: {file_names}" if file_names else "")
    last_sentences += f" and {unnamed_count} more" if unnamed_count > 0 else ""
    return "\n\n".join(
        text_part for text_part in (commit.subject, commit.body, last_sentences) if text_part
    )


def _relation(commit: _Commit, triple: tuple[str, str, str], key: str) -> RelationDraft:
    """Build the draft of a relation that a commit states.

    Args:
        commit: what says it.
        triple: the commit is `authored_by` its author, who `touches` each of its files: equal
            triples tell how often.
        key: what tells it from the commit's others of that type; not the author's name, which
            a mailmap may mend later.
    """
    relation_id = derived_id("rel", commit.at, GitSource.name, commit.hash, triple[1], key)
    return RelationDraft(relation_id, *triple, commit.at)


def _tag_draft(root: str, *tag: str) -> FactDraft:
    tag_name, commit, date_seconds, subject, body = tag
    happened_at = _instant(date_seconds)
    date_words = (
        ""
        if happened_at is None
        else f" of {datetime.fromtimestamp(happened_at / SECOND, UTC):%Y-%m-%d}"
    )
    message = "\n\n".join(filter(None, map(_without_addresses, (subject, body))))
    text = f"Tag {tag_name}{date_words} marks commit {commit[:12]}: {message[:_MOST_BODY]}"
    return FactDraft(
        # A tag can be moved, so its date is no part of its id.
        derived_id("fact", None, GitSource.name, root, "tag", tag_name),
        text.removesuffix(": "),
        category="tag",
        happened_at=happened_at,
    )
