"""The browse toolset: looking around, for pages, resources and scripts."""

from day1.toolsets.day1.browse import browsing
from day1.toolsets.day1.family import toolset

BROWSE = toolset("browse", browsing.OPERATIONS)
