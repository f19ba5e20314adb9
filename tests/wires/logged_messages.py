"""Talk to a server, and hear again what was said."""

from typing import Any

from tests.wires.mcp_session import Session


def say(
    core: Session, branch: str, text: str, conversation: str | None = None, **more: Any
) -> dict[str, Any]:
    """Log a message that `told` finds again."""
    return core.ok(
        "memory_log_message",
        **{"role": "user", "content": f"said {text}", "branch": branch, **more},
        conversation_id=conversation,
    )


def talk(core: Session, branch: str, *texts: str) -> str:
    """Begin a conversation."""
    conversation = None
    for text in texts:
        conversation = say(core, branch, text, conversation)["conversation_id"]
    assert conversation is not None
    return conversation


def told(core: Session, branch: str, conversation: str) -> list[str]:
    """What was said, in sequence, which must go from 1 on without holes."""
    return [hit["content"].removeprefix("said ") for hit in hits(core, branch, conversation)]


def hits(core: Session, branch: str, conversation: str) -> list[dict[str, Any]]:
    found = core.found(
        "memory_search_messages",
        query="said",
        branch=branch,
        conversation_id=conversation,
        limit=200,
    )
    found.sort(key=lambda hit: hit["sequence"])
    assert [hit["sequence"] for hit in found] == list(range(1, len(found) + 1))
    return found


def merge(core: Session, source: str, target: str) -> None:
    done = core.ok(
        "memory_branch_merge", source_branch=source, target_branch=target, strategy="auto"
    )
    assert done["rejected_count"] == 0
