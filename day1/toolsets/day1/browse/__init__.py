"""The browse toolset: reads rows, lists and the log, for pages, resources and scripts."""

from day1.toolsets.day1.browse import browsing
from day1.toolsets.day1.family import toolset

BROWSE = toolset("browse", browsing.OPERATIONS)
