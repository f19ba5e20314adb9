"""The stdio server, where the seed places it; `day1 mcp` starts the same."""

import sys

from day1.app import cli
from day1.app.stdio import run

__all__ = ["run"]

if __name__ == "__main__":
    sys.exit(cli.run(["mcp", "--toolsets", "core,review"]))
