"""Arbitration between the proposals of subscribers, and what an accepted proposal does. Pure.

A subscriber reads what was broadcast and proposes few things, each with a confidence. The bus
accepts the best ones, and says of every other one by a code why it was inhibited.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from day1.errors import Json
from day1.model.workspace.mind import Mind

Action = Literal["admit", "resolve_answer", "flag_contradiction", "note_gap"]
Inhibition = Literal["below_threshold", "duplicate_key", "max_accepted", "resolved_answer_present"]
Status = Literal["ok", "timeout", "error", "circuit_open"]

ACCEPT: Final = 0.5
"""The confidence from which a proposal is accepted."""
MOST_ACCEPTED: Final = 4
"""Proposals that one cycle accepts, at most."""
REPETITION: Final = 0.2
"""Taken from the confidence of a proposal that the last cycle accepted."""
MOST_PROPOSED: Final = 4
"""Proposals of one subscriber in one cycle, at most."""
BUDGET_S: Final = 0.25
"""Seconds that the subscribers have, all at the same time."""
FAILURES: Final = 3
"""Failures one after another that open the circuit of a subscriber."""
OPEN_CYCLES: Final = 10
"""Cycles during which a subscriber with an open circuit is not asked."""
_MOST_PAIRS: Final = 20
"""Contradicting pairs that a mind keeps, the newest."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a subscriber proposes: ids of rows, numbers and codes."""

    subscriber: str
    action: Action
    key: str
    """Proposals with equal keys mean the same."""
    confidence: float
    """From 0 to 1."""
    ids: tuple[str, ...] = ()
    """The rows that it is about."""
    number: int | None = None
    """The index of the task's objective that it is about, from 0."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a proposal."""

    proposal: Proposal
    reason: Inhibition | Literal["accepted"]

    @property
    def is_accepted(self) -> bool:
        """Whether the proposal is carried out."""
        return self.reason == "accepted"


@dataclass(frozen=True, slots=True)
class Report:
    """How a subscriber did in a cycle."""

    subscriber: str
    status: Status
    proposed: int = 0


def arbitrate(proposals: Iterable[Proposal], repeated: Iterable[str] = ()) -> list[Decision]:
    """Decide on proposals, the surest first; their order does not matter.

    Args:
        proposals: what the subscribers propose.
        repeated: the keys that the last cycle accepted.
    """
    before = frozenset(repeated)
    weighed = [
        replace(p, confidence=round(p.confidence - REPETITION, 6)) if p.key in before else p
        for p in proposals
    ]
    weighed.sort(key=lambda p: (-p.confidence, p.key, p.subscriber))
    decisions: list[Decision] = []
    keys: set[str] = set()
    is_resolved = False
    for proposal in weighed:
        reason: Inhibition | Literal["accepted"] = "accepted"
        if proposal.confidence < ACCEPT:
            reason = "below_threshold"
        elif proposal.key in keys:
            reason = "duplicate_key"
        elif is_resolved:
            reason = "resolved_answer_present"
        elif len(keys) >= MOST_ACCEPTED:
            reason = "max_accepted"
        else:
            keys.add(proposal.key)
            is_resolved = proposal.action == "resolve_answer"
        decisions.append(Decision(proposal, reason))
    return decisions


@dataclass(frozen=True, slots=True)
class Circuit:
    """How often a subscriber failed one time after another, and how long it is not asked."""

    failures: int = 0
    open_until: int = 0
    """The last cycle in which it is not asked."""

    def is_open(self, cycle: int) -> bool:
        """Whether the subscriber is not asked in a cycle."""
        return cycle <= self.open_until

    def after(self, status: Status, cycle: int) -> "Circuit":
        """Return the circuit after a cycle."""
        if status == "circuit_open":
            return self
        if status == "ok":
            return Circuit()
        failures = self.failures + 1
        return Circuit(failures, cycle + OPEN_CYCLES if failures >= FAILURES else 0)


@dataclass(frozen=True, slots=True)
class BusResult:
    """The result of a cycle of the bus: decisions on proposals, reports and circuits."""

    cycle: int
    decisions: Sequence[Decision]
    reports: Sequence[Report]
    circuits: Mapping[str, Circuit]
    """By subscriber."""

    @property
    def accepted(self) -> list[Proposal]:
        """The proposals that are carried out."""
        return [decision.proposal for decision in self.decisions if decision.is_accepted]

    @property
    def admitted_ids(self) -> list[str]:
        """The ids of the rows that accepted proposals bring back."""
        return [i for proposal in self.accepted if proposal.action == "admit" for i in proposal.ids]

    @property
    def inhibited(self) -> list[Proposal]:
        """All other proposals."""
        return [decision.proposal for decision in self.decisions if not decision.is_accepted]

    @property
    def value(self) -> dict[str, Any]:
        """The result as a mind keeps it."""
        return {
            "cycle": self.cycle,
            "decisions": [
                [
                    d.reason,
                    d.proposal.subscriber,
                    d.proposal.action,
                    d.proposal.key,
                    d.proposal.confidence,
                    list(d.proposal.ids),
                    d.proposal.number,
                ]
                for d in self.decisions
            ],
            "reports": [[r.subscriber, r.status, r.proposed] for r in self.reports],
            "circuits": {n: [c.failures, c.open_until] for n, c in self.circuits.items()},
        }


def read_result(value: Mapping[str, Any]) -> BusResult:
    """Read a result that a mind keeps."""
    decisions = [
        Decision(Proposal(subscriber, action, key, confidence, tuple(ids), number), reason)
        for reason, subscriber, action, key, confidence, ids, number in value["decisions"]
    ]
    return BusResult(
        value["cycle"],
        decisions,
        [Report(*report) for report in value["reports"]],
        {name: Circuit(*circuit) for name, circuit in value["circuits"].items()},
    )


def applied(mind: Mind, result: BusResult, now: int) -> Mind:
    """Carry out the accepted proposals: admit rows, note answers, pairs and gaps.

    Args:
        mind: the mind after the broadcast, perhaps changed by others since.
        result: what the bus did.
        now: the present time: microseconds UTC.
    """
    pairs = [tuple(pair) for pair in (mind.bus or {}).get("contradictions", ())]
    answer_ids: list[str] = []
    gaps: list[int] = []
    for proposal in result.accepted:
        match proposal.action:
            case "admit":
                mind = mind.admitted(proposal.ids, now)
            case "resolve_answer":
                answer_ids += proposal.ids
            case "flag_contradiction":
                pairs = [pair for pair in pairs if pair != proposal.ids] + [proposal.ids]
            case "note_gap":
                gaps.append(proposal.number or 0)
    kept = [list(pair) for pair in pairs[-_MOST_PAIRS:]]
    noted = {"contradictions": kept, "answer_ids": answer_ids, "gaps": gaps}
    return replace(mind, bus={**result.value, **noted})


def among_visible(result: BusResult, visible: Collection[str]) -> BusResult:
    """Leave the ids of rows that may not be shown out of a result.

    The key of a proposal about such a row is its action and `gone`.
    """

    def shown(proposal: Proposal) -> Proposal:
        ids = tuple(i for i in proposal.ids if i in visible)
        if ids == proposal.ids:
            return proposal
        return replace(proposal, ids=ids, key=f"{proposal.action}:gone")

    decisions = [replace(each, proposal=shown(each.proposal)) for each in result.decisions]
    return replace(result, decisions=decisions)


def summary_of(result: BusResult) -> dict[str, Json]:
    """Count the proposals, decisions and statuses of a cycle."""
    reasons = Counter(d.reason for d in result.decisions if not d.is_accepted)
    return {
        "cycle": result.cycle,
        "proposal_count": len(result.decisions),
        "accepted_count": len(result.accepted),
        "inhibited_count": len(result.inhibited),
        "inhibited_reason_counts": {str(r): reasons[r] for r in sorted(reasons)},
        "subscriber_status_counts": dict(sorted(Counter(r.status for r in result.reports).items())),
    }


def groups_of(result: BusResult) -> list[dict[str, Json]]:
    """Group the proposals of a cycle by what they propose."""
    groups: dict[str, list[Decision]] = {}
    for decision in result.decisions:
        groups.setdefault(decision.proposal.action, []).append(decision)
    return [
        {
            "action": action,
            "proposal_count": len(group),
            "accepted_count": sum(decision.is_accepted for decision in group),
            "keys": list(dict.fromkeys(decision.proposal.key for decision in group)),
        }
        for action, group in sorted(groups.items())
    ]
