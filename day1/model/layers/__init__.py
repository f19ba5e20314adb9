"""Compose: the layers of a prompt, and the owner that its rows have in `detail`."""
