"""Branches: create, find, list, note, archive, and draw their tree."""
