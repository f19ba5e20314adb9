"""Local maintenance: commands that call no operation and work on the store's files.

Import, export, backup, copy, gc and doctor, and the files of bundles.
"""
