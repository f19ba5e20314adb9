"""For every tool, arguments with which it succeeds: those it needs, and a branch."""

from typing import Any, NamedTuple

from tests.wires.mcp_session import Session

Arguments = dict[str, Any]


class There(NamedTuple):
    """What the arguments name."""

    branch: str
    source: str
    """Forked from `branch` after the fact and the conversation were written."""
    fact: str
    other: str
    """A fact of `source` alone."""
    spare: str
    """A branch that nothing else needs."""
    session: str
    """Wrote the fact."""
    conversation: str
    message: str
    commit: str
    """Changed the fact."""
    task: str
    """Joined by the agent `ada`, with one objective."""
    template: str
    handoff: str
    bundle: str
    review: str
    """Of a branch that adds the fact `reviewed`."""
    reviewed: str
    idle: str
    """A review that is to be closed."""


def minimal(there: There) -> dict[str, Arguments]:
    """Arguments by tool, in an order in which all of them can be called."""
    branch = there.branch
    both = {"source_branch": there.source, "target_branch": branch}
    here = {"branch": branch}
    return {
        "memory_write_fact": {"fact_text": "Ada drinks tea.", **here},
        "memory_write_observation": {"observation_type": "insight", "summary": "Tea.", **here},
        "memory_write_relation": {
            "source_entity": "Ada",
            "target_entity": "tea",
            "relation_type": "drinks",
            **here,
        },
        "memory_search": {"query": "tea", **here},
        "memory_graph_query": {"entity": "Ada", **here},
        "memory_timeline": here,
        "memory_branch_create": {"branch_name": f"{branch}/minimal", "parent_branch": branch},
        "memory_branch_list": {},
        "memory_branch_switch": {"branch_name": "main"},
        "memory_branch_diff": both,
        "memory_branch_merge": {**both, "strategy": "auto"},
        "memory_snapshot": here,
        "memory_snapshot_list": here,
        "memory_time_travel": {"timestamp": "2100-01-01", "query": "tea", **here},
        "memory_task_create": {"name": f"minimal of {branch}", "parent_branch": branch},
        "memory_task_join": {"task_id": there.task, "agent_id": "ada"},
        "memory_task_status": {"task_id": there.task},
        "memory_task_update": {"task_id": there.task, "objective_id": 0, "status": "completed"},
        "memory_consolidate": {"level": "task", "task_id": there.task},
        "memory_search_task": {"task_id": there.task, "query": "tea"},
        "memory_agent_timeline": {"agent_id": "ada"},
        "memory_replay_task_type": {"task_type": "bug_fix"},
        "memory_log_message": {"role": "user", "content": "Who drinks tea?", **here},
        "memory_list_conversations": here,
        "memory_search_messages": {"query": "tea", **here},
        "memory_fork_conversation": {
            "conversation_id": there.conversation,
            "fork_at_message_id": there.message,
            **here,
        },
        "memory_cherry_pick_conversation": {
            "conversation_id": there.conversation,
            "target_branch": there.source,
        },
        "memory_branch_create_curated": {
            "branch_name": f"{branch}/curated",
            "parent_branch": branch,
            "fact_ids": [there.fact],
        },
        "memory_session_context": {"session_id": there.session},
        "memory_branch_topology": {"root_branch": branch},
        "memory_branch_enrich": {"branch_name": branch},
        "memory_template_list": {},
        "memory_template_create": {"name": there.template, "source_branch": branch},
        "memory_template_instantiate": {
            "template_name": there.template,
            "target_branch_name": f"{branch}/from-template",
        },
        "verify_fact": {"fact_id": there.fact, **here},
        "verify_batch": {"branch_name": branch},
        "verify_merge_gate": both,
        "memory_handoff_create": both,
        "memory_handoff_get": {"handoff_id": there.handoff},
        "knowledge_bundle_create": {"name": f"minimal of {branch}", "source_branch": branch},
        "knowledge_bundle_import": {"bundle_id": there.bundle, "target_branch": there.source},
        "knowledge_bundle_list": {},
        "memory_update_fact": {"fact_id": there.fact, "category": "drinks", **here},
        "memory_supersede_fact": {"fact_id": there.fact, "fact_text": "Ada drinks mate.", **here},
        "memory_retract_fact": {"fact_id": there.fact, **here},
        "memory_remove": {"ids": [there.other], "branch": there.source},
        "memory_restore": {"to": "2100-01-01", "confirm": branch, **here},
        "memory_redact": {"id": there.conversation, "confirm": there.conversation, **here},
        "memory_merge_preview": both,
        "memory_held": here,
        "review_approve": {"review_id": there.idle, "expect": "none", "withdraw": True},
        "review_open": both,
        "review_list": {},
        "review_show": {"review_id": there.review},
        "review_decide": {
            "review_id": there.review,
            "decisions": [{"id": there.reviewed, "take": "theirs"}],
        },
        "review_merge": {"review_id": there.review},
        "review_close": {"review_id": there.idle},
        "memory_branch_protect": {"branch_name": branch, "requires": []},
        "memory_history": {"id": there.fact, **here},
        "memory_blame": {"id": there.message, **here},
        "memory_revert": {"commit": there.commit, **here},
        "memory_branch_archive": {"branch_name": there.spare},
        "memory_branch_revive": {"branch_name": there.spare},
        "memory_branch_delete": {"branch_name": there.spare},
        "knowledge_bundle_deprecate": {"bundle_id": there.bundle},
        "memory_template_deprecate": {"name": there.template},
    }


SPENT = {
    "memory_branch_create",
    "memory_branch_create_curated",
    "memory_template_instantiate",
    "memory_supersede_fact",
    "memory_retract_fact",
    "memory_remove",
    "memory_branch_delete",
    "review_merge",
    "review_close",
}
"""Tools that the same arguments do not serve a second time."""

MINIMAL = minimal(
    There(
        branch="main",
        source="empty",
        fact="fact_1",
        other="fact_3",
        spare="spare",
        session="session-1",
        conversation="conv_1",
        message="msg_1",
        commit="0" * 40,
        task="task_1",
        template="plan",
        handoff="handoff_1",
        bundle="bundle_1",
        review="review_1",
        reviewed="fact_2",
        idle="review_2",
    )
)
"""The same without a store, for what is refused before one is looked at."""


def prepared(core: Session, branch: str) -> dict[str, Arguments]:
    """`minimal` on an empty branch."""
    session, source, template = f"session of {branch}", f"{branch}/source", f"plan of {branch}"
    fact = core.ok(
        "memory_write_fact", fact_text="Ada drinks milk.", branch=branch, session_id=session
    )
    said = core.ok("memory_log_message", role="user", content="Tea?", branch=branch)
    changed = core.ok("memory_update_fact", fact_id=fact["id"], category="old", branch=branch)
    core.ok("memory_branch_create", branch_name=source, parent_branch=branch)
    other = core.ok("memory_write_fact", fact_text="Bo drinks milk.", branch=source)
    core.ok("memory_branch_create", branch_name=f"{branch}/spare", parent_branch=branch)
    task = core.ok(
        "memory_task_create",
        name=f"task of {branch}",
        objectives=[{"description": "Ask who drinks what."}],
        parent_branch=branch,
    )
    core.ok("memory_task_join", task_id=task["task_id"], agent_id="ada")
    core.ok("memory_template_create", name=template, source_branch=branch)
    handed = core.ok("memory_handoff_create", source_branch=source, target_branch=branch)
    bundle = core.ok("knowledge_bundle_create", name="minimal", source_branch=branch)
    side = f"{branch}/reviewed"
    core.ok("memory_branch_create", branch_name=side, parent_branch=branch)
    fresh = core.ok("memory_write_fact", fact_text="Cy drinks milk.", branch=side)
    opened = core.ok("review_open", source_branch=side, target_branch=branch)
    idle = core.ok("review_open", source_branch=branch, target_branch=side)
    return minimal(
        There(
            branch=branch,
            source=source,
            fact=fact["id"],
            other=other["id"],
            spare=f"{branch}/spare",
            session=session,
            conversation=said["conversation_id"],
            message=said["message_id"],
            commit=changed["written"]["commit"],
            task=task["task_id"],
            template=template,
            handoff=handed["handoff_id"],
            bundle=bundle["id"],
            review=opened["id"],
            reviewed=fresh["id"],
            idle=idle["id"],
        )
    )
