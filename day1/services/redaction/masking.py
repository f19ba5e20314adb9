"""Masking: what is redacted by now, for the store and the index of this node to obey."""

from day1.model.records.redaction import CLEAR, Mask, Redaction, mask_of
from day1.ports.ledger import Ledger


class Masking:
    """The ledger's redactions as one mask, read anew once the ledger was written to.

    The same object is given as long as nothing more is redacted, so that what was read through it
    can be kept with it.
    """

    def __init__(self, ledger: Ledger) -> None:
        """Read nothing yet."""
        self._ledger = ledger
        self._seen: tuple[object, Mask] = (None, CLEAR)

    def __call__(self) -> Mask:
        """The mask as of now, whichever process redacted."""
        stamp = self._ledger.stamp()
        seen, mask = self._seen
        if stamp is None or stamp != seen:
            fresh = mask_of(self._ledger.records(Redaction))
            mask = mask if fresh == mask else fresh
            self._seen = stamp, mask
        return mask
