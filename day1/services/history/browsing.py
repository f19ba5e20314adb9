"""Look around: a state by its name, rows of a kind by pages, and how branches forked and merged."""
