"""The formats of files that hooks and servers share: the standard library and nothing else.

`spool.py` has the files of events from hooks, `prime_file.py` the files of primes, and
`events.py` the line of one event. All layers may import from here, and this one from none.
"""
