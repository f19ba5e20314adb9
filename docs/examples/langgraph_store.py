"""Two runs of a graph, each on a branch of its own: what each wrote, a merge, and one decision.

    pip install 'day1[langgraph]'
    python langgraph_store.py

It needs no model and no network, and leaves no file behind.
"""

import tempfile

import day1
from day1.integrations.langgraph import Day1Store

ANN = ("users", "Ann")


def run(store, theme, note):
    """Do what a node of a graph does with the store that LangGraph gives it."""
    store.put(ANN, "prefs", {"theme": theme})
    store.put((*ANN, "notes"), note, {"text": f"Ann spoke of {note}."})


with (
    tempfile.TemporaryDirectory() as folder,
    day1.connect(folder, agent="graph", settings={"embedder": {"kind": "none"}}) as memory,
):
    store = Day1Store(memory)
    store.put(ANN, "prefs", {"theme": "blue"})

    first, second = store.on("run/1"), store.on("run/2")
    run(first, "dark", "oil")
    run(second, "light", "sand")
    print("main before:", store.get(ANN, "prefs").value)
    for name in ("run/1", "run/2"):
        rows = memory.branch(name).preview().rows
        print(name, "would bring", sorted((row["effect"], row["text"]) for row in rows))

    store.merge("run/1")
    merge = store.merge("run/2")
    print("main after:", store.get(ANN, "prefs").value)
    print("notes:", sorted(item.key for item in store.search((*ANN, "notes"))))

    (held,) = merge.held()
    held.decide("theirs")
    print("decided:", store.get(ANN, "prefs").value)
