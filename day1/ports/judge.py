"""Judges what a fact is worth."""

from __future__ import annotations

from typing import Protocol

from day1.model.records.judgement import Case, Judgement


class Judge(Protocol):
    """A judge; safe to share between threads."""

    @property
    def name(self) -> str:
        """How answers and rows name it."""

    @property
    def stand_in(self) -> Judge | None:
        """Who judges while this one cannot; None if it always can."""

    def clear(self, text: str) -> str:
        """Give a text without what speaks to a judge: a question for memory is made of the rest."""

    def judge(self, case: Case) -> Judgement:
        """Judge a case: every dimension that it asks for, once.

        What its texts say to a judge is left out first, and so is evidence about something else.

        Raises:
            ChatUnavailable: the model that it asks gives no usable answer.
        """
