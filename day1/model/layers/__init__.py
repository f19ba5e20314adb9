"""Compose: the layers of a prompt, and what its rows note of their owner."""
