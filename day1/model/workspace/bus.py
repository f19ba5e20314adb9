"""Choose among the proposals of subscribers, and carry out the accepted ones. Pure.

A subscriber reads what was broadcast and proposes few things, each with a confidence. The bus
accepts the best ones. Every other one is inhibited, with a code as the reason.
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
"""The minimum confidence of an accepted proposal."""
MOST_ACCEPTED: Final = 4
"""Maximum number of proposals that one cycle accepts."""
REPETITION: Final = 0.2
"""The confidence that a proposal loses if the last cycle accepted one with its key."""
MOST_PROPOSED: Final = 4
"""Maximum number of proposals of one subscriber in one cycle."""
BUDGET_S: Final = 0.25
"""Time limit in seconds for all subscribers, which run at the same time."""
FAILURES: Final = 3
"""The number of failures in a row that opens the circuit of a subscriber."""
OPEN_CYCLES: Final = 10
"""Cycles during which a subscriber with an open circuit is not asked."""
_MOST_PAIRS: Final = 20
"""Maximum number of contradicting pairs that a mind keeps: the newest."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the mind that a subscriber proposes: ids of rows, numbers and codes."""

    subscriber: str
    action: Action
    key: str
    """Proposals with equal keys mean the same."""
    confidence: float
    """How sure the subscriber is, from 0 to 1."""
    ids: tuple[str, ...] = ()
    """The ids of the rows that the proposal is about."""
    number: int | None = None
    """The index, from 0, of the task's objective that the proposal is about."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A proposal with the reason why it was accepted or inhibited."""

    proposal: Proposal
    reason: Inhibition | Literal["accepted"]

    @property
    def is_accepted(self) -> bool:
        """Whether the proposal is carried out."""
        return self.reason == "accepted"


@dataclass(frozen=True, slots=True)
class Report:
    """The status of a subscriber in a cycle, and the number of its proposals."""

    subscriber: str
    status: Status
    proposed: int = 0


def arbitrate(proposals: Iterable[Proposal], repeated: Iterable[str] = ()) -> list[Decision]:
    """Accept or inhibit proposals, by confidence; the order of the input does not matter.

    Args:
        proposals: the proposals of all subscribers.
        repeated: the keys that the last cycle accepted.
    """
    repeated_keys = frozenset(repeated)
    weighed_proposals = [
        replace(proposal, confidence=round(proposal.confidence - REPETITION, 6))
        if proposal.key in repeated_keys
        else proposal
        for proposal in proposals
    ]
    weighed_proposals.sort(
        key=lambda proposal: (-proposal.confidence, proposal.key, proposal.subscriber)
    )
    decisions: list[Decision] = []
    accepted_keys: set[str] = set()
    is_resolved = False
    for proposal in weighed_proposals:
        reason: Inhibition | Literal["accepted"] = "accepted"
        if proposal.confidence < ACCEPT:
            reason = "below_threshold"
        elif proposal.key in accepted_keys:
            reason = "duplicate_key"
        elif is_resolved:
            reason = "resolved_answer_present"
        elif len(accepted_keys) >= MOST_ACCEPTED:
            reason = "max_accepted"
        else:
            accepted_keys.add(proposal.key)
            is_resolved = proposal.action == "resolve_answer"
        decisions.append(Decision(proposal, reason))
    return decisions


@dataclass(frozen=True, slots=True)
class Circuit:
    """The failures in a row of a subscriber, and the cycles in which it is skipped for them."""

    failures: int = 0
    open_until: int = 0
    """The number of the last cycle in which the subscriber is not asked."""

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
    """The circuits by the name of the subscriber."""

    @property
    def accepted(self) -> list[Proposal]:
        """The proposals that are carried out."""
        return [decision.proposal for decision in self.decisions if decision.is_accepted]

    @property
    def admitted_ids(self) -> list[str]:
        """The ids of the rows that accepted proposals admit to the buffer."""
        return [
            row_id
            for proposal in self.accepted
            if proposal.action == "admit"
            for row_id in proposal.ids
        ]

    @property
    def inhibited(self) -> list[Proposal]:
        """The proposals that are not carried out."""
        return [decision.proposal for decision in self.decisions if not decision.is_accepted]

    @property
    def value(self) -> dict[str, Any]:
        """The result as the JSON value that a mind keeps."""
        return {
            "cycle": self.cycle,
            "decisions": [
                [
                    decision.reason,
                    decision.proposal.subscriber,
                    decision.proposal.action,
                    decision.proposal.key,
                    decision.proposal.confidence,
                    list(decision.proposal.ids),
                    decision.proposal.number,
                ]
                for decision in self.decisions
            ],
            "reports": [
                [report.subscriber, report.status, report.proposed] for report in self.reports
            ],
            "circuits": {
                name: [circuit.failures, circuit.open_until]
                for name, circuit in self.circuits.items()
            },
        }


def read_result(value: Mapping[str, Any]) -> BusResult:
    """Read a result from the JSON value that a mind keeps."""
    decisions = [
        Decision(Proposal(subscriber, proposed_action, key, confidence, tuple(ids), number), reason)
        for reason, subscriber, proposed_action, key, confidence, ids, number in value["decisions"]
    ]
    return BusResult(
        value["cycle"],
        decisions,
        [Report(*report) for report in value["reports"]],
        {name: Circuit(*circuit) for name, circuit in value["circuits"].items()},
    )


def applied(mind: Mind, result: BusResult, now: int) -> Mind:
    """Carry out accepted proposals: admit rows; record answers, contradicting pairs and gaps.

    Args:
        mind: the mind after the broadcast, perhaps changed by others since.
        result: the result of the bus.
        now: the present time: microseconds UTC.
    """
    contradicting_pairs = [tuple(pair) for pair in (mind.bus or {}).get("contradictions", ())]
    answer_ids: list[str] = []
    objective_numbers: list[int] = []
    for proposal in result.accepted:
        match proposal.action:
            case "admit":
                mind = mind.admitted(proposal.ids, now)
            case "resolve_answer":
                answer_ids += proposal.ids
            case "flag_contradiction":
                contradicting_pairs = [
                    pair for pair in contradicting_pairs if pair != proposal.ids
                ] + [proposal.ids]
            case "note_gap":
                objective_numbers.append(proposal.number or 0)
    newest_pairs = [list(pair) for pair in contradicting_pairs[-_MOST_PAIRS:]]
    recorded_values = {
        "contradictions": newest_pairs,
        "answer_ids": answer_ids,
        "gaps": objective_numbers,
    }
    return replace(mind, bus={**result.value, **recorded_values})


def among_visible(result: BusResult, visible: Collection[str]) -> BusResult:
    """Leave the ids of rows that may not be shown out of a result.

    The key of a proposal about such a row is its action and `gone`.
    """

    def shown(proposal: Proposal) -> Proposal:
        visible_ids = tuple(row_id for row_id in proposal.ids if row_id in visible)
        if visible_ids == proposal.ids:
            return proposal
        return replace(proposal, ids=visible_ids, key=f"{proposal.action}:gone")

    decisions = [
        replace(decision, proposal=shown(decision.proposal)) for decision in result.decisions
    ]
    return replace(result, decisions=decisions)


def summary_of(result: BusResult) -> dict[str, Json]:
    """Count the proposals, decisions and statuses of a cycle."""
    count_by_reason = Counter(
        decision.reason for decision in result.decisions if not decision.is_accepted
    )
    return {
        "cycle": result.cycle,
        "proposal_count": len(result.decisions),
        "accepted_count": len(result.accepted),
        "inhibited_count": len(result.inhibited),
        "inhibited_reason_counts": {
            str(reason): count_by_reason[reason] for reason in sorted(count_by_reason)
        },
        "subscriber_status_counts": dict(
            sorted(Counter(report.status for report in result.reports).items())
        ),
    }


def groups_of(result: BusResult) -> list[dict[str, Json]]:
    """Group the proposals of a cycle by action, with counts and keys."""
    decisions_by_action: dict[str, list[Decision]] = {}
    for decision in result.decisions:
        decisions_by_action.setdefault(decision.proposal.action, []).append(decision)
    return [
        {
            "action": action,
            "proposal_count": len(action_decisions),
            "accepted_count": sum(decision.is_accepted for decision in action_decisions),
            "keys": list(dict.fromkeys(decision.proposal.key for decision in action_decisions)),
        }
        for action, action_decisions in sorted(decisions_by_action.items())
    ]
