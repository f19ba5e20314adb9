"""What hooks have heard of the sessions of clients becomes memory."""
