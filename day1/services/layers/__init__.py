"""Layers of memory: searching them, packing them into a prompt, ranking texts, evaluations."""
