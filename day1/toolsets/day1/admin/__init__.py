"""The admin toolset: who may come in. Served to nobody unless named."""

from day1.toolsets.day1.admin import tokens
from day1.toolsets.day1.family import toolset

ADMIN = toolset("admin", tokens.OPERATIONS)
