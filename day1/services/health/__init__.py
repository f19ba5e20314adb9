"""Whether a store is sound: its checks, its clock and its size, and their repair."""
