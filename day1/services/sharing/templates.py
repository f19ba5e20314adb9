"""Templates: frozen versions of a branch from which working branches are forked."""

from dataclasses import dataclass, replace

from day1.errors import Advice, NotFound
from day1.model.branches.branch import Branch
from day1.model.branches.names import branch_part
from day1.model.records.sharing import TEMPLATES, ShelfStatus, Template
from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, FACT
from day1.services.branches.forking import NewBranch, check_free, fork, fork_under, new_below
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository
from day1.services.tasks.tasks import find_task


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """A template to create."""

    name: str
    description: str | None = None
    task_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    created_by: str | None = None


def create_template(repo: Repository, source: Branch, asked: NewTemplate, now: int) -> Template:
    """Freeze a branch as a template; a name that is used already gets the next version."""
    made: list[Template] = []
    template_id = repo.new_id("tmpl", now)

    def wanted() -> str:
        return f"{TEMPLATES}/{branch_part(asked.name)}/v{_next(repo, asked.name)}"

    def make(name: str) -> NewBranch:
        branch = replace(
            new_below(repo, source, name, now), description=asked.description, closed=True
        )
        template = _template(repo, branch, asked, template_id)
        made.append(template)
        return branch, (template,)

    def there() -> Branch | None:
        said = {"name": asked.name, "description": asked.description}
        first = made_by(repo.ledger, Template, template_id, **said, tags=asked.tags)
        if first is None:
            return None
        made.append(first)
        return repo.ledger.record(Branch, first.branch_id)

    fork_under(repo, wanted, make, there)
    return made[-1]


def _template(repo: Repository, branch: Branch, asked: NewTemplate, template_id: str) -> Template:
    with repo.store.reading(Ref(commit=branch.fork_commit)) as reading:
        facts = reading.tally(FACT, "status").get("active", 0)
        conversations = reading.count(CONVERSATION)
    return Template(
        id=template_id,
        name=asked.name,
        version=_next(repo, asked.name),
        branch_id=branch.id,
        commit=str(branch.fork_commit),
        description=asked.description,
        task_types=asked.task_types,
        tags=asked.tags,
        fact_count=facts,
        conversation_count=conversations,
        status="active",
        created_by=asked.created_by,
        created_at=branch.created_at,
    )


def _next(repo: Repository, name: str) -> int:
    return max((t.version for t in repo.ledger.records(Template, name=name)), default=0) + 1


def list_templates(
    repo: Repository, task_type: str | None, status: ShelfStatus, limit: int
) -> list[Template]:
    """Return templates with a status, and optionally for a task type, the newest first."""
    found = [
        template
        for template in reversed(repo.ledger.records(Template))
        if template.status == status and (task_type is None or task_type in template.task_types)
    ]
    return found[:limit]


def newest(repo: Repository, name: str) -> Template:
    """Return the newest active version of a template.

    Raises:
        NotFound: there is no such active template.
    """
    versions = repo.ledger.records(Template, name=name)
    active = [template for template in versions if template.status == "active"]
    if active:
        return max(active, key=lambda template: template.version)
    why = "Its versions are deprecated" if versions else "There is none of this name"
    raise NotFound(
        f"No template {name!r} can be used. {why}.",
        Advice("{memory_template_list} shows those there are."),
        template=name,
    )


def instantiate(
    repo: Repository, name: str, branch_name: str, now: int, task_id: str | None = None
) -> tuple[Branch, Template]:
    """Fork a working branch from the newest active version of a template.

    Raises:
        NotFound: there is no such template or task.
        InvalidRequest, BranchExists: the branch's name breaks the rule, or is taken.
    """
    template = newest(repo, name)
    if task_id is not None:
        find_task(repo, task_id)
    branch_id = repo.new_id("branch", now)
    branch = Branch(
        id=branch_id,
        name=check_free(repo, branch_name, branch_id),
        parent_id=template.branch_id,
        fork_commit=template.commit,
        created_at=now,
        description=template.description,
        task_id=task_id,
    )
    return fork(repo, branch), template


def deprecate_template(repo: Repository, name: str, version: int | None = None) -> list[Template]:
    """Mark one version or all versions of a template as deprecated; they stay readable.

    Raises:
        NotFound: there is no such template or version.
    """
    with repo.ledger.transaction():
        found = [
            replace(template, status="deprecated")
            for template in repo.ledger.records(Template, name=name)
            if version in {None, template.version}
        ]
        if not found:
            raise NotFound(
                f"There is no template {name!r}, or none of that version.",
                Advice("{memory_template_list} shows those there are."),
                template=name,
            )
        repo.ledger.put(*found)
    return found
