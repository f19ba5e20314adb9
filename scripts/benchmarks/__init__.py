"""What `scripts/bench` measures, a module for each group of rows."""
