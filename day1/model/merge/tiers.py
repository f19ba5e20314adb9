"""Tiers: how many people must approve a change before it is merged, by the rules of the target.

A rule is one line: a tier, then conditions. It applies to a change if all its conditions hold.

    none kind=observation,message
    one  change=removed
    two  category=policy confidence<0.5

If several rules apply to a change, the strictest tier counts. A change to which no rule applies
needs one approval.
"""

import operator
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from day1.errors import InvalidRequest
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import PlanRow, source_changed
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    FACT,
    HELD,
    MEMORIES,
    MESSAGE,
    OBSERVATION,
    RELATION,
    WHOLE,
    Kind,
    Row,
    cell_value,
)
from day1.model.values.tiers import TIERS, WORDS, Tier

_CHANGES: Final = ("new", "changed", "removed")
_CATEGORY: Final[Mapping[Kind, str | None]] = {
    FACT: "category",
    OBSERVATION: "observation_type",
    RELATION: "relation_type",
    MESSAGE: "role",
    CONVERSATION: None,
}
"""The column of each kind that a rule's `category` is compared with."""
_WHO: Final = frozenset({"agent", "source"})
_IMPORTED: Final[Row] = {"source": "import", "cell": None, "value": None}
"""An edit without an agent, which stands for rows that an import brought."""
FIELDS: Final = ("kind", "category", "agent", "source", "space", "branch", "change")
"""Fields that conditions compare with patterns."""
_COMPARES: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION: Final = re.compile("([a-z]+)(>=|<=|=|>|<)(.+)")
_QUOTED_SIGNS: Final = frozenset(" '\"\\")
_FORM: Final = (
    "A rule is a tier (none, one, two), then conditions such as category=policy,security, "
    "agent=bot-*, change=removed or confidence>=0.8; each of: "
    f"{', '.join(FIELDS)}, confidence."
)


@dataclass(frozen=True, slots=True)
class _Facet:
    """One version of a changed row, with one of the writers of the change."""

    named: Mapping[str, str | None]
    confidence: float | None


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition of a rule: a field, a comparison and values."""

    field: str
    sign: str
    values: tuple[str, ...]

    def holds(self, facet: _Facet) -> bool:
        """Whether the condition holds; it does not for a field without a value."""
        if self.sign != "=":
            limit = float(self.values[0])
            return facet.confidence is not None and _COMPARES[self.sign](facet.confidence, limit)
        value = facet.named[self.field]
        return value is not None and any(
            fnmatchcase(value.lower(), pattern) for pattern in self.values
        )

    def __str__(self) -> str:
        condition_text = f"{self.field}{self.sign}{','.join(self.values)}"
        return (
            shlex.quote(condition_text) if set(condition_text) & _QUOTED_SIGNS else condition_text
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of tiers: how many approvals a change needs, if all conditions hold for it."""

    tier: Tier
    conditions: tuple[_Condition, ...] = ()

    def about(self, facet: _Facet) -> bool:
        """Whether the rule applies: all its conditions hold, or it has none."""
        return all(condition.holds(facet) for condition in self.conditions)

    def __str__(self) -> str:
        return " ".join((self.tier, *map(str, self.conditions)))


@lru_cache(maxsize=1_000)
def rule_of(text: str) -> Rule:
    """Parse a rule.

    Raises:
        InvalidRequest: it cannot be parsed; the message shows the form of a rule.
    """
    try:
        words = shlex.split(text) if text.isprintable() else []
    except ValueError:  # a quote that is not closed
        words = []
    tier = WORDS.get(words[0].lower()) if words else None
    if tier is None:
        raise InvalidRequest(f"{text[:80]!r} is not a rule. {_FORM}", rule=text[:80])
    return Rule(tier, tuple(_condition(word, text) for word in words[1:]))


def _condition(word: str, rule: str) -> _Condition:
    match = _CONDITION.fullmatch(word.lower())
    field, sign, value_text = match.groups() if match else ("", "", "")
    values = tuple(value_text.split(","))
    is_valid_field = field in FIELDS if sign == "=" else field == "confidence"
    if not is_valid_field or not all(values) or not _are_possible_values(field, values):
        raise InvalidRequest(f"{word[:80]!r} is not a condition of a rule. {_FORM}", rule=rule[:80])
    return _Condition(field, sign, values)


def _are_possible_values(field: str, values: Sequence[str]) -> bool:
    """Whether a field can have these values; a field without a list of its own can have any."""
    if field == "confidence":
        try:
            return len(values) == 1 and 0 <= float(values[0]) <= 1
        except ValueError:
            return False
    possible_values = {
        "kind": [kind.name for kind in MEMORIES],
        "change": _CHANGES,
        "source": FACT.column["source"].among,
    }.get(field)
    return possible_values is None or all(
        any(fnmatchcase(possible_value, pattern) for possible_value in possible_values)
        for pattern in values
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """The tier of a change, and the reason for it."""

    tier: Tier
    why: str
    """The line of the rule that set the tier, or the reason if none did."""

    @property
    def looks(self) -> int:
        """The number of approvals that the change needs."""
        return TIERS.index(self.tier)


_DEFAULT: Final = Judged("one", "no rule applies to it")
_HELD: Final = Judged("one", "it is in conflict")
_DECIDED: Final = Judged("one", "it was decided for this merge")
_CLOSED: Final = Judged("one", "its held items were decided on the source branch")


def asks_who(rules: Iterable[str]) -> bool:
    """Whether a rule has a condition on the agent or the source of a change."""
    conditions = (condition for rule_line in rules for condition in rule_of(rule_line).conditions)
    return any(condition.field in _WHO for condition in conditions)


def judged(
    plan: MergePlan, rules: Iterable[str], branch: str, brought: Collection[str] = ()
) -> dict[str, Judged]:
    """Judge the tier of each row of a plan and of rows whose held items it closes, by row id.

    Args:
        plan: the plan of the merge.
        rules: the lines of the target's rules.
        branch: the name of the source.
        brought: the ids of imported rows and edits, whose origin only a file names.
    """
    parsed_rules = [rule_of(rule_line) for rule_line in rules]
    edits_by_row: dict[str, list[Row]] = {}
    for edit in plan.records.get(EDIT.table, {}).values():
        if edit is not None:
            edits_by_row.setdefault(str(edit["row_id"]), []).append(edit)
            if edit["id"] in brought:
                edits_by_row[str(edit["row_id"])].append(_IMPORTED)
    for row in plan.rows:
        if row.id in brought:
            edits_by_row.setdefault(row.id, []).append(_IMPORTED)
    judged_by_row = {
        row.id: _judged(row, parsed_rules, branch, edits_by_row.get(row.id, ()))
        for row in plan.rows
    }
    for row_id in _closed(plan):
        judged_by_row[row_id] = strictest([judged_by_row.get(row_id, _CLOSED), _CLOSED])
    return judged_by_row


def strictest(tiers: Iterable[Judged]) -> Judged:
    """Return the strictest tier (the first of equals); `none` without changes."""
    return max(tiers, key=lambda tier: tier.looks, default=Judged("none", "nothing changes"))


def _closed(plan: MergePlan) -> Iterator[str]:
    """Yield the ids of rows whose held items on the target were decided on the source."""
    incoming_items = plan.records.get(HELD.table, {})
    for item in incoming_items.values():
        if item is not None and item["closes"] is not None and item["closes"] not in incoming_items:
            yield str(item["row_id"])


def _judged(row: PlanRow, rules: Sequence[Rule], branch: str, edits: Sequence[Row]) -> Judged:
    judged_tiers = [_of_facet(facet, rules) for facet in _facets(row, branch, edits)]
    # Conflicts and choices go beyond what the source's writers decided.
    judged_tiers += [_HELD] if row.held else []
    judged_tiers += [_DECIDED] if row.decided else []
    return strictest(judged_tiers)


def _of_facet(facet: _Facet, rules: Sequence[Rule]) -> Judged:
    matching_tiers = [Judged(rule.tier, str(rule)) for rule in rules if rule.about(facet)]
    return strictest(matching_tiers) if matching_tiers else _DEFAULT


def _facets(row: PlanRow, branch: str, edits: Sequence[Row]) -> Iterator[_Facet]:
    """Yield every version of a changed row with every writer of the change, for rules to match.

    So a memory that moves between categories needs the approvals of the stricter category.
    """
    change_kind = "new" if row.target is None else "removed" if row.source is None else "changed"
    change_kinds = {change_kind, row.effect} & {*_CHANGES}
    versions = [version for version in (row.target, row.source, row.result) if version is not None]
    writer_rows = list(edits)
    if row.base is None and row.source is not None:
        writer_rows.append(row.source)  # its origin names the first writer
    elif not _has_known_writers(row, edits):
        writer_rows.append({})  # the writer is unknown, as after a restore, which leaves no edits
    category_column = _CATEGORY[row.kind]
    for version in versions or [row.base or {}]:
        confidence = version.get("confidence")
        row_fields = {
            "kind": row.kind.name,
            "category": _text_in(version, category_column) if category_column else None,
            "space": _text_in(version, "space"),
            "branch": branch,
        }
        for writer_row in writer_rows or [{}]:
            writer_fields = {
                "agent": _text_in(writer_row, "agent_id"),
                "source": _text_in(writer_row, "source"),
            }
            for change_name in sorted(change_kinds):
                facet_fields = {**row_fields, **writer_fields, "change": change_name}
                yield _Facet(facet_fields, None if confidence is None else float(str(confidence)))


def _has_known_writers(row: PlanRow, edits: Sequence[Row]) -> bool:
    """Whether edits cover every change of the source, so that its writers are known."""
    if row.source is None:
        return any(edit["cell"] == WHOLE for edit in edits)
    edited_cells = {(edit["cell"], edit["value"]) for edit in edits}
    cell_names = (group[0] for group in row.kind.groups)
    changed_cells = (cell for cell in cell_names if source_changed(row, cell))
    return all(
        (cell, cell_value(row.kind, row.source, cell)) in edited_cells for cell in changed_cells
    )


def _text_in(row: Row, column: str) -> str | None:
    value = row.get(column)
    return None if value is None else str(value)
