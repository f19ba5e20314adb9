"""Archives: summaries of sessions, and files of a wallet's memory."""
