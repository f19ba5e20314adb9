"""Skills: promoted patterns, with how often and by whom they were run since."""

from typing import Any, Final

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.layers.row_detail import owner_in
from day1.model.rows.json_columns import read_tags
from day1.model.rows.kind import text_of
from day1.model.skills.structure import SKILL
from day1.services.access.calls import branch_of
from day1.services.skills.mining import Counted, read_counted
from day1.services.skills.promoting import find_counted
from day1.toolsets.compose.fields import ComposeRequest, Metadata, Name, milliseconds
from day1.toolsets.compose.scope import wallet_of
from day1.toolsets.compose.upkeep.patterns import ListLimit, first
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe, absent

_DIGITS: Final = 6
"""Decimal places of rates in answers."""


class SkillsList(ComposeRequest):
    """The arguments of `skills_list`.

    Attributes:
        agentWallet: The agent whose skills are listed, beside the shared ones. Default: the agent
            that the token is bound to, else only shared ones are listed.
        category: Only skills of this category: the type of the pattern that they were made of.
        limit: How many to list, at most: from 1 to 200. Default: 50.
    """

    agentWallet: Maybe[Name] = None
    category: Maybe[Name] = None
    limit: ListLimit = None


class LearnedSkill(Response):
    """A skill; its rate, its uses and its agents are counted in the threads that you see."""

    skillId: str
    name: str
    description: str
    category: str
    trigger: Metadata = absent()
    spawnConfig: Metadata = absent()
    successRate: float
    usageCount: int
    creator: str
    agents: list[str]
    tags: Maybe[list[str]] = absent()
    createdAt: int
    updatedAt: Maybe[int] = absent()
    verification: str


class LearnedSkillListResponse(Response):
    """Skills, those of the surest success first."""

    skills: list[LearnedSkill]
    read: Read


class SkillsGet(ComposeRequest):
    """The arguments of `skills_get`.

    Attributes:
        skillId: The skill's id, as `skills_list` gives it.
        agentWallet: The agent whose skill it is. Default: the agent that the token is bound to,
            else only shared ones are found.
    """

    skillId: Name
    agentWallet: Maybe[Name] = None


class LearnedSkillResponse(Response):
    """One skill."""

    skill: LearnedSkill
    read: Read


def skills_list(ctx: Context, request: SkillsList) -> LearnedSkillListResponse:
    """List the skills, each with how often it was used since it was promoted."""
    owner, branch = wallet_of(ctx, request.agentWallet), branch_of(ctx)
    counted_rows = read_counted(ctx.repo, branch, SKILL, owner.spaces)
    matching_skills = [
        candidate
        for candidate in counted_rows.rows
        if request.category in {None, candidate.structure.type}
    ]
    return LearnedSkillListResponse(
        skills=[_skill(counted_skill) for counted_skill in matching_skills[: first(request.limit)]],
        read=read_of(counted_rows.state, branch.name),
    )


def skills_get(ctx: Context, request: SkillsGet) -> LearnedSkillResponse:
    """Show one skill, with how often it was used since it was promoted."""
    owner, branch = wallet_of(ctx, request.agentWallet), branch_of(ctx)
    found_skill = find_counted(ctx.repo, branch, SKILL, request.skillId, owner.spaces)
    if found_skill.counted is None:
        raise NotFound(
            "This agentWallet has no skill of this id: `skills_list` lists its skills.",
            skillId=request.skillId,
        )
    read_state = read_of(found_skill.read.state, branch.name)
    return LearnedSkillResponse(skill=_skill(found_skill.counted), read=read_state)


def _skill(counted: Counted) -> LearnedSkill:
    row, skill_structure, skill_usage = counted.row, counted.structure, counted.used
    trigger: dict[str, Any] = dict(skill_structure.trigger)
    return LearnedSkill(
        skillId=str(row["id"]),
        name=skill_structure.name or skill_structure.summary,
        description=skill_structure.summary,
        category=skill_structure.type,
        trigger=trigger,
        successRate=round(counted.counts.rate, _DIGITS),
        usageCount=skill_usage.runs,
        creator=owner_in(row["detail"]).wallet or text_of(row["agent_id"]) or "",
        agents=list(skill_usage.agents),
        tags=read_tags(row["tags"]) or None,
        createdAt=milliseconds(int(row["created_at"] or 0)),
        verification=str(row["verification"]),
    )


OPERATIONS: Final = (
    Operation("skills_list", skills_list, Effect.READ),
    Operation("skills_get", skills_get, Effect.READ),
)
