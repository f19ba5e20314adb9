"""Turns, transcripts and working sessions of Compose."""
