"""The loop of an agent: a prompt before each turn, a recorded turn after it, durable facts."""
