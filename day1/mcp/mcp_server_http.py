"""Start the HTTP server, as `day1 serve` does."""

from day1.app import cli
from day1.app.http import run

__all__ = ["run"]

if __name__ == "__main__":
    cli.main(["serve"])
