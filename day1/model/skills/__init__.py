"""Rules about patterns and skills, mined from the tool calls of threads."""
