"""Handling of an event: add it to the spool, and answer a session's start with the prime.

Without a store nothing is written; a hook never makes one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from day1.formats import spool
from day1.formats.events import CLIENTS, EVENTS, event_of, line_of, session_of
from day1.formats.prime_file import note_told, read, stamp_of, times_forgotten, told_at
from day1.home import is_ours, is_store, locate, named_by
from day1.interfaces.hook import answers

MAIN: Final = "main"
"""The default branch."""
LOG: Final = "hooks.log"
"""Name of the log file for failures of hooks, in the store's folder."""
_LOGGING: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
_MOST_LOG: Final = 256 * 1024
"""Bytes after which the log starts anew; the old one is renamed."""
_AGAIN_S: Final = 10
"""Seconds within which two equal starts of a session are one: two hook files may report it."""
_PROJECTS: Final = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Environment variables of clients with the project's folder, which stays when agents `cd`."""


def hear(event: str, client: str, data: bytes) -> str:
    """Handle an event and return the answer for its client."""
    payload, problem = _payload(data)
    store_folder = _store(payload)
    if store_folder is None:
        return answers.nothing(client)
    if event not in EVENTS or client not in CLIENTS:
        _note(store_folder, "unknown event or client")
        return answers.nothing(client)
    is_duplicate = False
    try:
        was_spooled = _spooled(event, client, payload, store_folder)
        is_duplicate = was_spooled is False
        problem = problem or ("" if was_spooled is not None else "the client names no session")
    except spool.Full as exc:
        problem = f"the spool is full: {exc}"
    except OSError as exc:
        problem = exc.strerror or type(exc).__name__
    if problem:
        _note(store_folder, f"{event} of {client}: {problem}")
    if event == "session-start" and not is_duplicate:  # even if the event could not be spooled
        return answers.start(client, _prime(store_folder, payload))
    return answers.nothing(client)


def _payload(data: bytes) -> tuple[Mapping[str, Any], str]:
    """Parse an event, or return an empty one and what is wrong with it."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return {}, "stdin is not JSON, or too long"
    return (payload, "") if isinstance(payload, dict) else ({}, "stdin is not a JSON object")


def _store(payload: Mapping[str, Any]) -> Path | None:
    """Find the folder of the event's store; None if there is no store."""
    try:
        store_name = named_by(os.environ)
        store_location = locate(store_name, _project(payload))
        folder = store_location.folder
        if not is_ours(store_location):
            return None
        store_exists = (
            (folder / "node").is_file() if store_name.url is not None else is_store(folder)
        )
    except (OSError, RuntimeError, ValueError):  # no home, no folder, or an invalid path
        return None
    return folder if store_exists else None


def _project(payload: Mapping[str, Any]) -> Path:
    workspace_roots = payload.get("workspace_roots")
    first_root = (
        workspace_roots[0] if isinstance(workspace_roots, list) and workspace_roots else None
    )
    candidate_folders = (
        *(os.environ.get(variable) for variable in _PROJECTS),
        first_root,
        payload.get("cwd"),
    )
    for folder in candidate_folders:
        if isinstance(folder, str) and folder and Path(folder).is_dir():
            return Path(folder)
    return Path.cwd()


def _spooled(event: str, client: str, payload: Mapping[str, Any], store: Path) -> bool | None:
    """Add an event to the spool; False if it is a duplicate, None if it names no session."""
    record = event_of(event, client, payload, os.environ, time.time_ns() // 1000)
    if record is None:
        return None
    if not store.stat().st_mode & 0o077:  # a private store stays private
        os.umask(0o077)
    return spool.append(
        spool.path_of(store, record["session"]),
        line_of(record),
        lambda tail: _is_repeated(record, tail),
    )


def _is_repeated(record: Mapping[str, Any], tail: bytes) -> bool:
    """Whether the spool already ends with this start of a session, from another hook file."""
    if record["event"] != "session-start":
        return False  # other duplicates are dropped at ingest, by their ids
    for spool_line in tail.splitlines():
        try:
            earlier_record = json.loads(spool_line)
            is_same_event = all(
                earlier_record[key] == record.get(key) for key in ("event", "source")
            )
            if is_same_event and abs(record["at"] - earlier_record["at"]) < _AGAIN_S * 1_000_000:
                return True
        except (ValueError, TypeError, KeyError):
            continue
    return False


def _prime(store: Path, payload: Mapping[str, Any]) -> str:
    branch = os.environ.get("DAY1_BRANCH") or MAIN
    space, forget_count = os.environ.get("DAY1_SPACE") or None, times_forgotten(store)
    prime = (space and read(store, branch, space)) or read(store, branch)
    if prime is None:
        session_text = answers.unprimed(branch)
    else:
        session_text = answers.primed(told_at(prime, time.time_ns() // 1000), stamp_of(store))
        session_id = session_of(payload)
        if session_id is not None:
            with suppress(OSError):  # hints will then repeat parts of the prime
                note_told(store, session_id, session_text, forget_count)
    return answers.forked(session_text) if payload.get("source") == "fork" else session_text


def _note(store: Path, message: str) -> None:
    """Write a line to the log, which never holds text of the event."""
    log_path = store / LOG
    try:
        if log_path.exists() and log_path.stat().st_size > _MOST_LOG:
            log_path.replace(log_path.with_name(f"{LOG}.1"))
        time_text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        log_fd = os.open(log_path, _LOGGING, 0o666)
        with os.fdopen(log_fd, "a", encoding="utf-8", errors="replace") as log_file:
            log_file.write(f"{time_text} {message[:200]}\n")
    except OSError:
        return  # whoever opens a full or read-only store is told
