"""The version of day1."""

__version__ = "0.1.0"
