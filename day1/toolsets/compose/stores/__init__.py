"""What the loop keeps, one by one: facts, vectors, transcripts, working sessions, items."""
