"""The recall toolset: what clients' hooks and commands ask, so that no model has to."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.recalling import OPERATIONS

RECALL = toolset("recall", OPERATIONS)
