"""Small real git repositories for the tests, untouched by the settings of the machine."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

START = 1_700_000_000


class GitRepository:
    """A repository whose nth commit was authored n days after `START` (seconds)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits = 0
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, **environment: str) -> str:
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (
                ("NAME", "Ada Lovelace"),
                ("EMAIL", "ada@example.com"),
                ("DATE", f"{self.authored(self.commits)} +0200"),
            )
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **settings, **who, **environment},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    @staticmethod
    def authored(number: int) -> int:
        return START + number * 86_400

    def commit(
        self, message: str, files: Mapping[str, str] = {}, author: str = "", email: str = ""
    ) -> str:
        """Write files, commit everything, and give the commit's hash."""
        self.commits += 1
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        who = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": email} if author else {}
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message, **who)
        return self.git("rev-parse", "HEAD")
