"""The formats of files that hooks and servers share: the standard library and nothing else.

`spool.py` has the events that wait, `prime_file.py` what a session is told when it begins, and
`events.py` one event as a line. All layers may import from here, and this one from none.
"""
