"""The judge that needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from day1.model.judging.judging import Case, Judgement


class RulesJudge:
    """A `Judge` by the evidence in memory; the same case is always judged the same."""

    @property
    def name(self) -> str:
        """How answers and rows name it."""
        from day1.model.judging.judging import RULES  # noqa: PLC0415 - as below

        return RULES

    def judge(self, case: Case) -> Judgement:
        """Judge by rules."""
        from day1.model.judging.judging import by_rules  # noqa: PLC0415 - 15 ms, and few commands judge

        return by_rules(case)
