"""Commands that work on the files of a store, and are no operations: local maintenance.

Import, export, backup, copy, gc and doctor, and the files of bundles.
"""
