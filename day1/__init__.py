"""day1: git for agent memory."""

__version__ = "0.1.0"
