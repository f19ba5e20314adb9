"""The HTTP server, where the seed places it (checklist S1-006); `day1 serve` starts the same."""

import sys

from day1.app import cli
from day1.app.http import run

__all__ = ["run"]

if __name__ == "__main__":
    sys.exit(cli.run(["serve"]))
