"""Whoever says what a fact is worth."""

from typing import Protocol

from day1.model.judging.judging import Case, Judgement


class Judge(Protocol):
    """A judge; safe to share between threads."""

    @property
    def name(self) -> str:
        """How answers and rows name it."""

    def judge(self, case: Case) -> Judgement:
        """Judge a prepared case: every dimension that it asks for, once.

        Raises:
            ChatUnavailable: it asks a model that does not answer, or not soundly.
        """
