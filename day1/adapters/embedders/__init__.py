"""Embedders, which turn texts into vectors. The only package that imports onnxruntime."""

import os

# onnxruntime reports to its vendor unless it is told otherwise before its library is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
