"""Workspaces: minds on desks, candidates from memory, cycles, questions and collections."""
