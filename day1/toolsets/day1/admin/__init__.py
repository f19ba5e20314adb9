"""The admin toolset: who may come in. Served to nobody unless named."""

from day1.call.toolset import Toolset
from day1.toolsets.day1.admin import tokens

ADMIN: Toolset = tokens.OPERATIONS
