"""The process that a client starts for each of its events (`day1 hook`).

It starts at every turn of every session. So it must start quickly, must never fail, and must never
make its client wait: it loads only the standard library. It begins in `entry.py`.
"""
