"""Maintenance of a wallet: jobs, and the schedules that repeat them."""
