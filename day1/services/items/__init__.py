"""Items of a wallet: facts and messages that its callers keep, correct, remove and count."""
