"""What a team wrote: the rows of a task, a session or an agent on all the branches they are on."""
