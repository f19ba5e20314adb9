"""Upkeep of what the loop keeps: patterns, skills, archives, jobs and schedules."""
