"""Every toolset, with those that only HTTP and `day1 call` offer: an MCP server loads no others."""

from typing import Final

from day1.toolsets import registered
from day1.toolsets.compose import COMPOSE
from day1.toolsets.day1.keyed import KEYED
from day1.toolsets.day1.library import LIBRARY

TOOLSETS: Final = registered(COMPOSE, LIBRARY, KEYED)
