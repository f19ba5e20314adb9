"""Patterns mined from tool calls, and the skills that they become."""
