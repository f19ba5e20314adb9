"""Word the next step that an error or a note advises as a command."""

from collections.abc import Mapping
from typing import Final

from day1.errors import Step

COMMANDS: Final[Mapping[str, str]] = {
    "knowledge_bundle_deprecate": "day1 bundle deprecate",
    "knowledge_bundle_list": "day1 bundle list",
    "memory_branch_archive": "day1 branch --archive",
    "memory_branch_create": "day1 switch -c",
    "memory_branch_delete": "day1 branch -d",
    "memory_branch_diff": "day1 diff",
    "memory_branch_list": "day1 branch",
    "memory_branch_revive": "day1 switch",
    "memory_branch_switch": "day1 switch",
    "memory_get": "day1 show",
    "memory_handoff_create": "day1 handoff create",
    "memory_held": "day1 held",
    "memory_history": "day1 history",
    "memory_log": "day1 log",
    "memory_remove": "day1 rm",
    "memory_restore": "day1 restore",
    "memory_retract_fact": "day1 rm",
    "memory_revert": "day1 revert",
    "memory_search": "day1 search",
    "memory_snapshot_list": "day1 snapshot --list",
    "memory_task_create": "day1 task create",
    "memory_template_deprecate": "day1 template deprecate",
    "memory_template_list": "day1 template list",
    "review_approve": "day1 review approve",
    "review_close": "day1 review close",
    "review_decide": "day1 review decide",
    "review_list": "day1 review list",
    "review_merge": "day1 review merge",
    "review_open": "day1 review open",
    "review_show": "day1 review show",
    "verify_batch": "day1 verify",
    "verify_merge_gate": "day1 verify --gate",
}
"""The command of each operation; `day1 call` calls an operation without one."""

CALLS: Final[Mapping[str, str]] = {
    "memory_branch_delete": "day1 branch -D {branch_name}",
    "memory_branch_merge": "day1 cherry-pick {items[0]} --from {source_branch} "
    "--into {target_branch}",
    "memory_branch_protect": "day1 branch --unprotect {branch_name}",
    "memory_branch_revive": "day1 branch --revive {branch_name}",
    "memory_log": "day1 log {branch}",
    "memory_revert": "day1 revert {commit}",
}
"""The command line of each operation that is advised with all its arguments."""

OPTIONS: Final[Mapping[str, str]] = {
    "full=true": "--full",
    "include_unverified=true": "--include-unverified",
    "only_verified=false": "--all",
}
"""The option of each argument that is advised."""


def command_of(step: Step) -> str:
    """Return a step in the form that a person types."""
    if step.whole:
        return f"`{CALLS[step.operation].format_map(step.arguments)}`"
    if step.arguments:
        return f"`{OPTIONS[str(step)]}`"
    operation = _own_name(step) if step.toolset else step.operation
    return f"`{COMMANDS.get(operation, f'day1 call {operation}')}`"


def _own_name(step: Step) -> str:
    """Return the name by which `day1 call` finds a step's tool."""
    from day1.toolsets.over_http import TOOLSETS  # which takes long to import

    tool = TOOLSETS.meant(step)
    return tool.name if tool is TOOLSETS.tool(tool.name) else tool.qualified_name
