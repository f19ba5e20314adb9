"""The admin toolset: who may come in. Served to nobody unless named."""

from day1.operation import Toolset
from day1.toolsets.admin import tokens

ADMIN: Toolset = tokens.OPERATIONS
