"""Random steps on the engine, by two writers, and on the copying oracle, which must stay alike."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import note

from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.model.rows.kind import FACT
from tests.oracle.copying_store import CopyingMemory
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Choice, Clock, Held, Memory, Merged, Receipt, Refusal
from tests.suites.nothing_lost import NothingLost

PARTS, EXAMPLES, STEPS = 4, 75, 30
"""300 examples; in parts, so that the cores share them."""
BRANCHES = 4
EXAMPLES_PER_STORE = 5
DECISIONS = 450
WRITERS = ("memory", "other")
SECOND = 1_000_000
START = Clock().now
SHARES = {
    "merge": 0.5,
    "data conflict": 0.25,
    "held item": 0.3,
    "dismissed": 0.2,
    "merged twice": 0.2,
    "as of around a merge": 0.3,
    "two writers": 0.2,
}
"""What share of the examples must have each."""
CATEGORIES = ("red", "blue")
TEXTS = ("one", "two", "three")
COLUMNS: tuple[dict[str, Any], ...] = (
    *({"category": category} for category in CATEGORIES),
    *({"fact_text": text} for text in TEXTS),
    *({"confidence": 0.5, "category": category} for category in CATEGORIES),
)
YOUNGER: tuple[dict[str, Any], ...] = (
    *({"space": f"project:{name}"} for name in CATEGORIES),
    *({"fact_text": text, "structure": f'["{text}"]'} for text in TEXTS),
    {"structure": "[0]"},
    {"valid_until": 7, "tags": '["a"]'},
    {"valid_until": 4},
    {"happened_at": 6},
    {"happened_at": 2, "valid_until": 9},
)
"""Columns that a branch of schema 1 cannot have."""
KINDS = (("fact", "fact"), ("observation", "obs"), ("relation", "rel"))
VERDICTS = (("verified", "[1]"), ("invalidated", "[0]"))
EDITS: dict[str, dict[str, Any]] = {
    "*": {"fact_text": "edited"},
    "fact_text": {"fact_text": "edited"},
    "category": {"category": "edited"},
    "confidence": {"confidence": 0.25},
    "status": {"status": "archived"},
    "verification": {"verification": "verified", "scores": "[2]"},
    "space": {"space": "project:edited"},
    "happened_at": {"happened_at": 5},
}
CELLS = ("*", *EDITS)
WEIGHTS = {
    "look_back": 3,
    "add": 2,
    "update": 2,
    "judge": 2,
    "supersede": 2,
    "remove": 1,
    "restore": 2,
    "conflict": 3,
    "merge": 2,
    "merge_deciding": 2,
    "pick": 2,
    "squash": 1,
    "decide": 5,
    "branch_off": 2,
    "commit_pending": 1,
}
"""Steps by name, and how often each is taken."""
STEPPED = (True, *[False] * 7)
"""How often a branch that is left at schema 1 is no longer."""
NAMES = [name for name, times in WEIGHTS.items() for _ in range(times)]
COMPARED = {"merge", "restore_branch", "restore_row", "decide"}
"""Actions after which the branch is compared at once; all are in the end."""
T = TypeVar("T")


class Run:
    """The stores that the examples of a run are done in, and what the examples had."""

    def __init__(self, place: Callable[[], Path | str], *, old: bool = False) -> None:
        self.place, self.old = place, old
        self.clocks = [Clock(), Clock(skew=-10 * SECOND)]
        self.engines: list[EngineMemory] = []
        self.begun = self.examples = 0
        self.having: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()

    def root(self) -> str:
        """A fresh, empty branch; a store of its own for every example would cost as much again."""
        for clock in self.clocks:
            clock.now = START
        if self.begun % EXAMPLES_PER_STORE == 0:
            self.close()
            place = self.place()
            for clock, agent in zip(self.clocks, ("one", "two"), strict=True):
                self.engines.append(EngineMemory(place, clock, agent, old=self.old))
        self.begun += 1
        name = f"root{self.begun}"
        self.engines[0].fork(name, "main")
        return name

    def close(self) -> None:
        for engine in self.engines:
            engine.close()
        self.engines.clear()

    def report(self) -> str:
        shares = [
            f"{name} {self.having[name] / max(1, self.examples):.0%} (at least {least:.0%})"
            for name, least in SHARES.items()
        ]
        actions = [f"{name} {count}" for name, count in sorted(self.actions.items())]
        head = f"{self.examples} examples of {STEPS} steps"
        return "\n  ".join((head, ", ".join(shares), ", ".join(actions)))


class TwoStores:
    """Every step is done on both; what they answer and what can be read must be the same."""

    def __init__(self, run: Run, decisions: bytes) -> None:
        self.run = run
        self.decisions = iter(decisions)
        self.root = run.root()
        self.engines = run.engines
        self.oracle = CopyingMemory(root=self.root)
        self.branches = [self.root]
        self.old = {self.root} if run.old else set[str]()
        """Branches that are written to as by a day1 that knows schema 1 only."""
        self.times: dict[str, list[int]] = {self.root: []}
        self.merge_times: list[tuple[str, int]] = []
        self.merges: list[tuple[str, str]] = []
        self.had: set[str] = set()
        self.wrote: set[int] = set()
        self.made = self.asked = 0
        self.nothing_lost = NothingLost(self.oracle, self.root)

    # Doing and comparing

    def do(self, writer: int, branch: str, method: str, *args: Any, **columns: Any) -> Any:
        """Do an action on both; the oracle takes the engine's time."""
        self.asked += 1
        for clock in self.run.clocks:
            clock.tick(self.asked % 3)  # also by nothing: then times differ by the least there is
        given = [*map(repr, args), *(f"{name}={value!r}" for name, value in columns.items())]
        note(f"clock.tick({self.asked % 3}); {WRITERS[writer]}.{method}({', '.join(given)})")
        self.run.actions[method] += 1
        self.wrote.add(writer)
        self.nothing_lost.before(method, branch, args)
        self.engines[writer].store.version = 1 if branch in self.old else SCHEMA_VERSION
        engine = _answer(self.engines[writer], method, *args, **columns)
        if method == "supersede":  # a merge may have stepped an old branch
            there = self.engines[writer].state(branch)["facts"].get(args[1], {})
            self.oracle.ends = branch not in self.old or there.get("valid_until") is not None
        at = self.oracle.next_time = getattr(engine, "at", None)
        oracle = _answer(self.oracle, method, *args, **columns)
        assert isinstance(engine, Receipt) or engine == oracle, (engine, oracle)
        if method in COMPARED:
            self.compare(branch, 1 - writer)
        if not isinstance(engine, str):
            self.nothing_lost.after(method, branch, args)
            self.had |= {"held item"} if self.oracle.held(branch) else set()
            self.had |= {"dismissed"} if "dismissed" in args else set()
        if at is not None:
            self.times[branch] += [at - 1, at]
        return engine

    def compare(self, branch: str, reader: int) -> None:
        engine = self.engines[reader]
        assert engine.state(branch) == self.oracle.state(branch)
        assert _sorted(engine.held(branch)) == _sorted(self.oracle.held(branch))

    def compare_at(self, branch: str, at: int, reader: int) -> None:
        assert self.engines[reader].state(branch, at) == self.oracle.state(branch, at), (branch, at)

    # Deciding

    def one_of(self, options: Sequence[T]) -> T:
        """The decisions come as bytes: hypothesis would make most examples near copies of one
        another if it were asked for each, and can still shrink."""
        return options[next(self.decisions, 0) % len(options)]

    def fresh(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}_{self.made}"

    def row(self, *branches: str, facts: bool = True) -> str:
        """An id that is on one of the branches, if any is, most often of the oldest facts."""
        tables = ["facts"] if facts else ["facts", "observations", "relations"]
        states = [self.oracle.state(branch) for branch in branches]
        ids = sorted({i for state in states for table in tables for i in state[table]})
        return self.one_of([*ids[:2], *ids] or ["fact_none"])

    def pair(self) -> tuple[str, str]:
        """Source and target, most often the same two."""
        source = self.one_of([self.branches[1], *self.branches])
        return source, self.one_of(
            [b for b in (self.root, self.root, *self.branches) if b != source]
        )

    # Steps

    def begin(self) -> None:
        for name in ("fact_a", "fact_b"):
            self.do(0, self.root, "add_fact", self.root, name, fact_text=name)
        self.fork(0, f"side{self.root}", self.root)

    def step(self) -> None:
        name, writer = self.one_of(NAMES), self.one_of([0, 1])
        if bool(self.old) and self.one_of(STEPPED):
            self.old.discard(self.one_of(sorted(self.old)))
        getattr(self, name)(writer)

    def add(self, writer: int) -> None:
        branch, text = self.one_of(self.branches), self.one_of(TEXTS)
        kind, prefix = self.one_of(KINDS)
        columns: dict[str, Any] = {
            "fact": {"fact_text": text},
            "observation": {"summary": text},
            "relation": {"source_entity": "x", "target_entity": text, "relation_type": "y"},
        }[kind]
        self.do(writer, branch, f"add_{kind}", branch, self.fresh(prefix), **columns)

    def update(self, writer: int) -> None:
        branch = self.one_of(self.branches)
        columns = self.one_of(self.columns(branch))
        self.do(writer, branch, "update_fact", branch, self.row(branch), **columns)

    def conflict(self, writer: int) -> None:
        source, target = self.pair()
        row = self.row(source)
        for branch, by in ((source, writer), (target, 1 - writer)):
            self.do(by, branch, "update_fact", branch, row, **self.one_of(self.columns(branch)))
        self._join("auto", writer, source, target)

    def judge(self, writer: int) -> None:
        branch, verdict = self.one_of(self.branches), self.one_of(VERDICTS)
        self.do(writer, branch, "judge", branch, self.row(branch), *verdict)

    def supersede(self, writer: int) -> None:
        branch, text, new = self.one_of(self.branches), self.one_of(TEXTS), self.fresh("fact")
        self.do(writer, branch, "supersede", branch, self.row(branch), new, text)

    def remove(self, writer: int) -> None:
        branch = self.one_of(self.branches)
        self.do(writer, branch, "remove", branch, self.row(branch, facts=False))

    def fork(self, writer: int, name: str, parent: str, at: int | None = None) -> None:
        self.times[name] = [each for each in self.times[parent] if at is None or each <= at]
        self.old |= {name} if parent in self.old else set()
        self.branches.append(name)
        self.do(writer, name, "fork", name, parent, at)
        if at is not None:
            self.compare(name, 1 - writer)

    def branch_off(self, writer: int) -> None:
        if len(self.branches) < BRANCHES:
            parent = self.one_of(self.branches)
            newest = self.oracle.branches[parent][-1].at
            past = [at for at in self.times[parent] if at <= newest]
            at = self.one_of([None, *past]) if self.one_of((True, False)) else None
            self.fork(writer, self.fresh(f"branch_{self.root}"), parent, at)
        else:
            self.look_back(writer)

    def merge(self, writer: int) -> None:
        self._join("auto", writer, *self.pair())

    def merge_deciding(self, writer: int) -> None:
        self._join("auto", writer, *self.pair(), choices=2)

    def pick(self, writer: int) -> None:
        self._join("cherry_pick", writer, *self.pair(), choices=self.one_of([0, 1]))

    def squash(self, writer: int) -> None:
        self._join("squash", writer, *self.pair(), choices=2)

    def _join(self, strategy: str, writer: int, source: str, target: str, choices: int = 0) -> None:
        bases = self.oracle.bases(source, target)
        if any(base.content != bases[0].content for base in bases):
            # After a criss-cross the engine may start from any of them.
            return self.look_back(writer)
        if strategy == "squash" and self.oracle.branches[source][-1].content == bases[0].content:
            # Whether who changed what and back again is worth a squash is the engine's to say.
            return self.look_back(writer)
        made = [self._choice(source, target) for _ in range(choices)]
        items = [self.row(source, facts=False)] if strategy == "cherry_pick" else None
        self.know_younger(target, *(choice.cell for choice in made))
        done = self.do(writer, target, "merge", source, target, strategy, made, items)
        if isinstance(done, Merged) and done.at is not None:
            self.merge_times += [(target, done.at - 1), (target, done.at), (source, done.at - 1)]
            self.had |= {"merge"} if strategy == "auto" else set()
            self.had |= {"data conflict"} if done.rejected else set()
            self.merges.append((source, target))
        return None

    def _choice(self, source: str, target: str) -> Choice:
        row, cell = self.row(source, target), self.one_of(CELLS)
        take = self.one_of(["theirs", "ours", "skip", "value", "delete"])
        if take == "delete" and cell != "*":
            take = "theirs"
        return Choice(row, take, cell, EDITS[cell] if take == "value" else None)

    def restore(self, writer: int) -> None:
        branch = self.one_of(self.branches)
        at = self.one_of(self.times[branch])
        if self.one_of((True, False)):
            self.do(writer, branch, "restore_branch", branch, at)
        else:
            self.do(writer, branch, "restore_row", branch, self.row(*self.branches), at)

    def columns(self, branch: str) -> tuple[dict[str, Any], ...]:
        """What may be set on a branch."""
        return COLUMNS if branch in self.old else (*COLUMNS, *YOUNGER)

    def know_younger(self, branch: str, *cells: str) -> None:
        """A day1 that knows schema 1 only brings nothing that has younger columns."""
        if self.old != set(self.branches) or FACT.younger & set(cells):
            self.old.discard(branch)

    def decide(self, writer: int) -> None:
        items = Counter((b, h.row_id, h.cell) for b in self.branches for h in self.oracle.held(b))
        single = sorted(item for item, count in items.items() if count == 1)
        if not single:
            return self.look_back(writer)
        branch, row, cell = self.one_of(single)
        decision = self.one_of(["taken", "edited", "dismissed"] if cell in EDITS else ["taken"])
        value = EDITS[cell] if decision == "edited" else None
        self.know_younger(branch, cell)
        self.do(writer, branch, "decide", branch, row, cell, decision, value)
        return None

    def commit_pending(self, writer: int) -> None:
        branch = self.one_of(self.branches)
        self.do(writer, branch, "commit_pending", branch)

    def look_back(self, writer: int) -> None:
        self.run.actions["look back"] += 1
        around_a_merge = self.one_of((True, False))
        if around_a_merge and self.merge_times:
            self.compare_at(*self.one_of(self.merge_times), writer)
            self.had.add("as of around a merge")
        else:
            branch = self.one_of(self.branches)
            self.compare_at(branch, self.one_of(self.times[branch]), writer)

    def end(self) -> None:
        for branch in self.branches:
            self.compare(branch, 0)
            for at in self.times[branch][::-12]:
                self.compare_at(branch, at, 1)
        self.had |= {"two writers"} if len(self.wrote) > 1 else set()
        self.had |= {"merged twice"} if len(set(self.merges)) < len(self.merges) else set()
        self.run.examples += 1
        self.run.having.update(self.had)


def _sorted(items: list[Held]) -> list[Held]:
    return sorted(items, key=repr)


def _answer(memory: Memory, method: str, *args: Any, **columns: Any) -> Any:
    try:
        return getattr(memory, method)(*args, **columns)
    except Refusal as refused:
        return refused.code
