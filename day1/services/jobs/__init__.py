"""Jobs that maintain the memory of a wallet, and their schedules."""
