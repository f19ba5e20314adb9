"""Turning the events that hooks reported into rows."""
