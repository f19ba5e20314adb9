"""The admin toolset, for tokens. It is served only where it is named."""

from day1.toolsets.day1.admin import tokens
from day1.toolsets.day1.family import toolset

ADMIN = toolset("admin", tokens.OPERATIONS)
