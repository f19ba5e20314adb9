"""Starts the MCP server on stdin and stdout, as `day1 mcp` does."""

import sys

from day1.app import cli
from day1.app.stdio import run

__all__ = ["run"]

if __name__ == "__main__":
    sys.exit(cli.run(["mcp", "--toolsets", "core,review"]))
