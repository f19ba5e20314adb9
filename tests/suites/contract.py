"""The contract: what every memory must do, whatever the engine.

A test class inherits `MemorySuite` and gives the fixture `memory`, a fresh `Memory` with the
branch `main`; it never overrides a test.
"""

from tests.suites.as_of_suite import AsOfSuite
from tests.suites.bounds_suite import BoundsSuite
from tests.suites.holding_suite import HoldingSuite
from tests.suites.merging_suite import MergingSuite, PickingSuite
from tests.suites.offering_suite import OfferingSuite
from tests.suites.reverting_suite import RevertingSuite
from tests.suites.spaces_suite import SpacesSuite


class MemorySuite(
    AsOfSuite,
    BoundsSuite,
    MergingSuite,
    PickingSuite,
    HoldingSuite,
    OfferingSuite,
    RevertingSuite,
    SpacesSuite,
):
    """All of it."""
