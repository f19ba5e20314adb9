"""A workspace: the few rows that an agent, or the agents of a task, attend to, and why."""
