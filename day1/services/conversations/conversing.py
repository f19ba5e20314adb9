"""Conversations: log a message, read them in order, list them, and copy a part of one."""
