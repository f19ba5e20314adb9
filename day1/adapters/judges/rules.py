"""The judge that needs no model."""

from day1.model.judging import RULES, Case, Judgement, by_rules


class RulesJudge:
    """A `Judge` by the evidence in memory; the same case is always judged the same."""

    name = RULES

    def judge(self, case: Case) -> Judgement:
        """Judge by rules."""
        return by_rules(case)
