"""The judge that needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from day1.model.records.judgement import Case, Judgement


class RulesJudge:
    """A `Judge` by the evidence in memory; the same case is always judged the same."""

    name = "rules"
    stand_in = None

    def clear(self, text: str) -> str:
        """Remove instructions to a judge from a text."""
        from day1.adapters.judges.injection import cleared  # noqa: PLC0415 - as below

        return cleared(text).text

    def judge(self, case: Case) -> Judgement:
        """Judge by rules."""
        from day1.adapters.judges.preparing import judged  # noqa: PLC0415 - as below
        from day1.adapters.judges.rules_scoring import by_rules  # noqa: PLC0415 - 15 ms, and few commands judge

        return judged(case, by_rules)
