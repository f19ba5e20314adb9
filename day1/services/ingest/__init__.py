"""Turns the events that hooks reported into rows of the memory."""
