"""An agent: a process that calls tools on a store, one for each line of JSON, until it is killed.

Arguments: the store's folder, and the agent's name. It answers each line with `{"answer": …}`, or
with `{"refused": code}`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from day1.app.open import open_store
from day1.errors import Day1Error
from day1.interfaces.heads import ProcessHead
from day1.services.access.caller import Caller
from day1.settings import EmbedderSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS


def main(folder: Path, agent: str) -> None:
    store = open_store(
        Settings(
            home=folder,
            embedder=EmbedderSettings(kind="none"),
            search=SearchSettings(chroma=False),
        )
    )
    tools = {tool.name: tool for tool in TOOLSETS.choose("core,review")}
    context = store.context(Caller(agent_id=agent, head=ProcessHead(store.repo, "main")))
    print(json.dumps({"answer": "ready"}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"answer": tools[asked["tool"]].call(context, asked["arguments"])}
        except Day1Error as exc:
            answer = {"refused": exc.code}
        print(json.dumps(answer), flush=True)
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
