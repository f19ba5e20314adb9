"""day1: git for agent memory."""

from day1.version import __version__ as __version__
