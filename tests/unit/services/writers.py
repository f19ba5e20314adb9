"""Writers of a bench in memory: rows with their author, imports, and merges."""

from dataclasses import replace

from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, Cell
from day1.model.rows.origin import Origin
from day1.services.merges import merging, planning
from day1.services.merges.planning import MergeRequest
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import NewFact, fact_row
from day1.services.tasks import sessions
from tests.unit.services.conftest import ADA, Bench

SIDE = "side"


def token_of(agent: str) -> str:
    """The id of the token that an agent of these tests uses."""
    return f"token_{agent}"


def write(
    bench: Bench,
    fact_id: str,
    branch: str = SIDE,
    agent: str = "ann",
    text: str | None = None,
    **columns: Cell,
) -> None:
    """Add a fact as its author does, whose session the ledger notes first."""
    bench.now += 1
    origin = Origin(agent)
    sessions.register_writer(bench.repo, bench.branch(branch), origin, bench.now, token_of(agent))
    row = fact_row(fact_id, NewFact(text or f"text of {fact_id}"), origin, bench.now)
    with bench.store.adding(branch) as work:
        work.add(FACT, [{**row, **columns, "created_at": work.now}])


def correct(bench: Bench, fact_id: str, branch: str, **columns: Cell) -> None:
    """Change columns of a fact, as a commit of its own."""
    bench.now += 1
    update(bench.repo, bench.branch(branch), Correction(fact_id, columns), ADA)


def commit(
    bench: Bench,
    op: str,
    fact_id: str,
    branch: str = SIDE,
    at: int | None = None,
    **columns: Cell,
) -> None:
    """Add a fact in a commit of an operation, such as an import."""
    bench.now += 1
    with bench.store.changing(branch) as work:
        if at is not None:
            work.turn_back(at)
        row = fact_row(fact_id, NewFact(fact_id), Origin(source="import"), work.now)
        work.add(FACT, [{**row, **columns}])
        work.commit(Message(op, op))


def request(
    bench: Bench, source: str = SIDE, target: str = MAIN, **more: object
) -> planning.MergeRequest:
    """A request to merge everything, unless `more` says otherwise."""
    made = MergeRequest(bench.branch(source), bench.branch(target), "auto")
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def merge(bench: Bench, source: str = SIDE, target: str = MAIN, **more: object) -> merging.Merged:
    """Merge whatever the target requires, with a time of its own."""
    bench.now += 1
    asked = request(bench, source, target, **more)
    return merging.merge(bench.repo, asked, ADA, bench.now, lambda *_: None)


def plan(bench: Bench, *choices: Choice) -> planning.Preview:
    """The preview of merging the side branch into main."""
    return planning.look(bench.repo, request(bench, choices=choices))
