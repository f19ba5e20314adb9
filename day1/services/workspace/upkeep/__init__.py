"""Upkeep of a workspace's memory: exchange as lines, replacing, compacting, resetting, profiles."""
