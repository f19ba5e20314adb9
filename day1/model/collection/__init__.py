"""Collections: the records that texts hold, and exact answers computed from them."""
