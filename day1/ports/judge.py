"""Judging facts: the port."""

from __future__ import annotations

from typing import Protocol

from day1.model.records.judgement import Case, Judgement


class Judge(Protocol):
    """A judge; safe to share between threads."""

    @property
    def name(self) -> str:
        """The judge's name in answers and rows."""

    @property
    def stand_in(self) -> Judge | None:
        """The judge that replaces this one while it is unavailable; None if it always works."""

    def clear(self, text: str) -> str:
        """Remove instructions to a judge from a text; the rest becomes a question to memory."""

    def judge(self, case: Case) -> Judgement:
        """Judge a case: every dimension that it asks for, once.

        What its texts say to a judge is left out first, and so is evidence about something else.

        Raises:
            ChatUnavailable: the model that it asks gives no usable answer.
        """
