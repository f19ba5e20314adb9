"""Tools for templates: list, create, instantiate."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Read, Repeatable, Request, Response, Text, Time, Written
from day1.call.operation import Effect, Operation
from day1.model.records.sharing import ShelfStatus, Template
from day1.services.access.calls import active_or_none, agent_of, branch_of, repeatable
from day1.services.branches.lookup import name_of
from day1.services.sharing.templates import (
    NewTemplate,
    create_template,
    instantiate,
    list_templates,
)
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Limit


class TemplateList(Request):
    """The arguments of `memory_template_list` (S1-073).

    Attributes:
        task_type: Only templates that name this task type; default: all.
        status: Only templates of this status. `active`: in use; `deprecated`: taken out of use.
        limit: How many to answer at most.
    """

    task_type: Label | None = None
    status: ShelfStatus | None = "active"
    limit: Limit | None = 20


class TemplateItem(Response):
    """A version of a template (S1-073)."""

    name: str
    version: int
    branch_name: str
    description: str | None
    applicable_task_types: list[str]
    tags: list[str]
    fact_count: int
    conversation_count: int
    status: str
    created_by: str | None
    created_at: Time


class Templates(Response):
    """The templates of a store, newest first (S1-073)."""

    templates: list[TemplateItem]
    read: Read


def template_list(ctx: Context, request: TemplateList) -> Templates:
    """Templates to begin work from, newest first."""
    matching_templates = list_templates(
        ctx.repo, request.task_type, request.status or "active", request.limit or 20
    )
    return Templates(
        templates=[template_item(ctx, template) for template in matching_templates],
        read=state_of(ctx, active_or_none(ctx)),
    )


def template_item(ctx: Context, template: Template) -> TemplateItem:
    """Convert a template to its shown form."""
    return TemplateItem.from_record(
        template,
        branch_name=name_of(ctx.repo, template.branch_id),
        applicable_task_types=template.task_types,
    )


class TemplateCreate(Repeatable):
    """The arguments of `memory_template_create` (S1-074).

    Attributes:
        name: The template's name; if there is one of this name, this becomes its next version.
        source_branch: The branch to keep, as it is now; it can go on.
        description: What the template is for; branches made from it get the same description.
        applicable_task_types: The task types that it is meant for, which memory_template_list can
            filter by.
        tags: Labels of the template; they are only shown.
    """

    name: Label
    source_branch: Label
    description: Text | None = None
    applicable_task_types: Labels | None = None
    tags: Labels | None = None


class TemplateCreated(TemplateItem):
    """A new version of a template (S1-074)."""

    written: Written


def template_create(ctx: Context, request: TemplateCreate) -> TemplateCreated:
    """Keep a branch as a template; a name that exists gets its next version."""
    new_template = NewTemplate(
        name=request.name,
        description=request.description,
        task_types=tuple(request.applicable_task_types or ()),
        tags=tuple(request.tags or ()),
        created_by=agent_of(ctx.caller),
    )
    repo = repeatable(ctx, request)
    template = create_template(
        repo, branch_of(ctx, request.source_branch), new_template, ctx.clock()
    )
    shown_template = template_item(ctx, template)
    return TemplateCreated(
        **dict(shown_template),
        written=Written(branch=shown_template.branch_name, commit=template.commit),
    )


class TemplateInstantiate(Repeatable):
    """The arguments of `memory_template_instantiate` (S1-076).

    Attributes:
        template_name: The template's name; its newest active version is used.
        target_branch_name: The name of the new branch, as in memory_branch_create.
        task_id: The task that the new branch is for: what is written there is written for it.
            Default: none.
    """

    template_name: Label
    target_branch_name: Annotated[Label, Field(description="new branch")]
    task_id: Label | None = None


class TemplateInstantiated(Response):
    """A branch that was forked from a template (S1-076)."""

    branch_name: str
    template_name: str
    template_version: int
    facts_inherited: int
    conversations_inherited: int
    written: Written


def template_instantiate(ctx: Context, request: TemplateInstantiate) -> TemplateInstantiated:
    """Fork a working branch from a template's newest active version."""
    new_branch, template = instantiate(
        repeatable(ctx, request),
        request.template_name,
        request.target_branch_name,
        ctx.clock(),
        request.task_id,
    )
    return TemplateInstantiated(
        branch_name=new_branch.name,
        template_name=template.name,
        template_version=template.version,
        facts_inherited=template.fact_count,
        conversations_inherited=template.conversation_count,
        written=Written(branch=new_branch.name, commit=template.commit),
    )


OPERATIONS = (
    Operation("memory_template_list", template_list, Effect.READ),
    Operation("memory_template_create", template_create, Effect.WRITE),
    Operation("memory_template_instantiate", template_instantiate, Effect.WRITE),
)
