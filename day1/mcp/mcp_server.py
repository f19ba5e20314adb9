"""Start the MCP server on stdin and stdout, as `day1 mcp` does."""

from day1.app import cli
from day1.app.stdio import run

__all__ = ["run"]

if __name__ == "__main__":
    cli.main(["mcp", "--toolsets", "core,review"])
