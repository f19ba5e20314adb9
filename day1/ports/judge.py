"""Judges what a fact is worth."""

from typing import Protocol

from day1.model.judging.judging import Case, Judgement


class Judge(Protocol):
    """A judge; safe to share between threads."""

    @property
    def name(self) -> str:
        """How answers and rows name it."""

    def judge(self, case: Case) -> Judgement:
        """Judge a prepared case in each dimension that it asks for.

        Raises:
            ChatUnavailable: the model that it asks gives no usable answer.
        """
