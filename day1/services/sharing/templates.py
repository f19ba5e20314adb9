"""Templates: frozen versions of a branch from which working branches are forked."""

from dataclasses import asdict, dataclass, replace

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


def create_template(repo: Repository, source: Branch, new: NewTemplate, now: int) -> Template:
    """Freeze a branch as a template; a name that is used already gets the next version."""
    templates: list[Template] = []
    template_id = repo.new_id("tmpl", now)

    def branch_name() -> str:
        return f"{TEMPLATES}/{branch_part(new.name)}/v{_next_version(repo, new.name)}"

    def make_branch(name: str) -> NewBranch:
        branch = replace(
            new_below(repo, source, name, now), description=new.description, closed=True
        )
        template = _template(repo, branch, new, template_id)
        templates.append(template)
        return branch, (template,)

    def existing_branch() -> Branch | None:
        template_fields = {"name": new.name, "description": new.description}
        existing_template = made_by(
            repo.ledger, Template, template_id, **template_fields, tags=new.tags
        )
        if existing_template is None:
            return None
        templates.append(existing_template)
        return repo.ledger.record(Branch, existing_template.branch_id)

    fork_under(repo, branch_name, make_branch, existing_branch)
    return templates[-1]


def _template(repo: Repository, branch: Branch, new: NewTemplate, template_id: str) -> Template:
    with repo.store.reading(Ref(commit=branch.fork_commit)) as reading:
        active_fact_count = reading.tally(FACT, "status").get("active", 0)
        conversation_count = reading.count(CONVERSATION)
    return Template(
        id=template_id,
        version=_next_version(repo, new.name),
        branch_id=branch.id,
        commit=str(branch.fork_commit),
        fact_count=active_fact_count,
        conversation_count=conversation_count,
        status="active",
        created_at=branch.created_at,
        **asdict(new),
    )


def _next_version(repo: Repository, name: str) -> int:
    return (
        max((template.version for template in repo.ledger.records(Template, name=name)), default=0)
        + 1
    )


def list_templates(
    repo: Repository, task_type: str | None, status: ShelfStatus, limit: int
) -> list[Template]:
    """Return templates with a status, and optionally for a task type, the newest first."""
    templates = [
        template
        for template in reversed(repo.ledger.records(Template))
        if template.status == status and (task_type is None or task_type in template.task_types)
    ]
    return templates[:limit]


def newest(repo: Repository, name: str) -> Template:
    """Return the newest active version of a template.

    Raises:
        NotFound: there is no such active template.
    """
    template_versions = repo.ledger.records(Template, name=name)
    active_versions = [template for template in template_versions if template.status == "active"]
    if active_versions:
        return max(active_versions, key=lambda template: template.version)
    reason = "Its versions are deprecated" if template_versions else "No template has this name"
    raise NotFound(
        f"No template {name!r} can be used. {reason}.",
        Advice("{memory_template_list} lists the templates."),
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
        templates = [
            replace(template, status="deprecated")
            for template in repo.ledger.records(Template, name=name)
            if version in {None, template.version}
        ]
        if not templates:
            raise NotFound(
                f"There is no template {name!r}, or none of that version.",
                Advice("{memory_template_list} lists the templates."),
                template=name,
            )
        repo.ledger.put(*templates)
    return templates
