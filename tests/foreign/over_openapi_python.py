"""The loop of Compose Memory with a client that openapi-python-client made of the served document.

It runs under an interpreter that has what such a client stands on, and nothing of day1's. The
arguments are how the server is reached, as JSON, and the folder that has the package
`memory_client`. It prints what the client understood, as JSON.
"""

import json
import sys
from typing import Any

reached = json.loads(sys.argv[1])
sys.path.insert(0, sys.argv[2])

from memory_client import AuthenticatedClient, models  # noqa: E402 - the path is set above
from memory_client.api.memory import context_assemble, loop, patterns_list, remember, turn_record  # noqa: E402 - as above

WHO = {"agent_wallet": "0xa1", "user_address": "ann", "thread_id": "tea"}


def prompt_of(answer: Any) -> str:
    assert isinstance(answer, models.AgentMemoryContextResponse), answer
    assert answer.context_usage.characters == len(answer.prompt or "")
    return str(answer.prompt)


def run(client: AuthenticatedClient) -> dict[str, Any]:
    """Begin a turn, record it, remember a fact, and take the same steps at the one address."""
    asked = models.AgentMemoryContextRequest(query="When is tea served?", **WHO)
    before = context_assemble.sync(client=client, body=asked)
    assert isinstance(before, models.AgentMemoryContextResponse), before
    said = {"user_message": "Tea is served at four.", "assistant_message": "I shall be there."}
    turn = models.AgentMemoryRecordTurnRequest(turn_id="turn-1", **said, **WHO)
    recorded = turn_record.sync(client=client, body=turn)
    assert isinstance(recorded, models.AgentMemoryRecordTurnResponse), recorded
    fact = models.AgentMemoryRememberRequest(content="The kettle whistles.", **WHO)
    kept = remember.sync(client=client, body=fact)
    assert isinstance(kept, models.AgentMemoryRememberResponse), kept
    messages = [
        models.AgentMemoryTurnMessage(role=models.AgentMemoryTurnMessageRole(role), content=text)
        for role, text in (("user", "Who pours?"), ("assistant", "Grace pours."))
    ]
    second = models.LoopBodyType1(step="post_turn", turn_id="turn-2", messages=messages, **WHO)
    ended = loop.sync(client=client, body=second)
    assert isinstance(ended, models.AgentMemoryRecordTurnResponse), ended
    third = models.LoopBodyType0(step="pre_turn", query="Does the kettle whistle?", **WHO)
    patterns = patterns_list.sync(client=client, agent_wallet="0xa1")
    assert isinstance(patterns, models.ProceduralPatternListResponse), patterns
    wrong = models.AgentMemoryContextRequest(query="tea", limit=21, **WHO)
    refused = context_assemble.sync_detailed(client=client, body=wrong)
    assert isinstance(refused.parsed, models.ErrorResponse), refused
    return {
        "before": before.items,
        "turns": [recorded.turn_id, ended.turn_id],
        "kept": kept.memory.text,
        "prompt": prompt_of(loop.sync(client=client, body=third)),
        "patterns": patterns.patterns,
        "refused": refused.status_code,
    }


with AuthenticatedClient(base_url=reached["url"], token=reached["token"], timeout=60) as opened:
    print(json.dumps(run(opened)))
