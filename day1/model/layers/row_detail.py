"""The column `detail` of rows of Compose: their owner in the caller's own spelling, and more."""

from typing import Any, Final

from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import Cell, canonical
from day1.model.values.wallet_space import Owner

VIA: Final = "compose"
"""The value of `via` in the rows that Compose wrote."""


def detail_of(owner: Owner, **more: Any) -> str:
    """Write the detail of a row: its owner, and `more` without empty values, as canonical JSON."""
    value_by_name = {
        "via": VIA,
        "agentWallet": owner.wallet,
        "userAddress": owner.user,
        "haiId": owner.device,
        **more,
    }
    return canonical(
        {name: value for name, value in value_by_name.items() if value not in (None, {})}
    )


def owner_in(cell: Cell) -> Owner:
    """Read the owner from a row's detail; empty for a row that Compose did not write."""
    detail = read_detail(cell)
    if detail.get("via") != VIA:
        return Owner()
    wallet, user, device = (detail.get(key) for key in ("agentWallet", "userAddress", "haiId"))
    return Owner(
        *(
            identifier if isinstance(identifier, str) else None
            for identifier in (wallet, user, device)
        )
    )
