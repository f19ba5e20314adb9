"""What runs when a client tells of an event (`day1 hook`): the standard library and nothing else.

A hook is a process of its own at every turn of every session. So it must start quickly, must never
fail, and must never make its client wait. `entry.py` is where it begins.
"""
