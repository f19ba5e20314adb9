"""The recall toolset: tools that hooks and commands of clients call instead of a model."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.recalling import OPERATIONS

RECALL = toolset("recall", OPERATIONS)
