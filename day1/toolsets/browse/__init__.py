"""The browse toolset: looking around, for pages, resources and scripts."""

from day1.toolsets.browse import browsing

BROWSE = browsing.OPERATIONS
