"""Recognise what looks like a secret, so that a writer can be warned or refused."""

import re

_SHAPES = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{30})")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9_-]{20}")),
    ("a Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10}")),
    (
        "a JSON web token",
        # Of what one piece holds, only its first `eyJ` is tried: it leaves the most behind it.
        re.compile(r"(?<![\w-])(?>[\w-]*?\beyJ)[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{10}"),
    ),
    ("a password", re.compile(r"(?i)\bpass(?:word|wd)?\s*[=:]\s*(?![<{$*\s])\S{6}")),
)


def looks_secret(*texts: str | None) -> str | None:
    """Name the kind of secret that one of the texts seems to hold; None if none does."""
    for text in texts:
        for name, shape in _SHAPES:
            if text and shape.search(text):
                return name
    return None
