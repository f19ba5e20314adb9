"""Connect clients to day1: implements `Setup`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from day1.adapters.clients.copies import Copies
from day1.adapters.clients.documents import NotUnderstood
from day1.adapters.clients.edits import Edit, NotesEdit, ServerEdit
from day1.adapters.clients.file_edits import JointEdit, PluginEdit
from day1.adapters.clients.files import Change, NotTouched, Text, carry_out, read
from day1.adapters.clients.hook_edits import HooksEdit
from day1.adapters.clients.hook_table import HOOKS, PLUGIN
from day1.adapters.clients.table import BRIEFLY, CLIENTS, INSTRUCTIONS, PLACES, Files
from day1.adapters.flock import Patience, take
from day1.errors import Refused, StoreBusy
from day1.model.values.callbacks import KillPoint
from day1.ports.setup import Asked, Outcome, Setup, State

_WAIT_S: Final = 10.0
_FEW: Final = 3
"""The number of places that a note names."""


class ClientSetup(Setup):
    """Edits the files of the clients that `table.py` lists."""

    def __init__(self, home: Path, project: Path, environment: Mapping[str, str]) -> None:
        """Work with a home folder, a project folder and environment variables."""
        self._places = {"home": home, "project": project}
        for place_name, (variable_name, default_folder) in PLACES.items():
            configured_folder = environment.get(variable_name) if variable_name else None
            place_folder = Path(configured_folder or default_folder.replace("~", str(home), 1))
            self._places.setdefault(place_name, place_folder)
        if sys.platform == "darwin":
            self._places["code"] = home / "Library" / "Application Support" / "Code"
        elif environment.get("XDG_CONFIG_HOME"):
            self._places["code"] = self._places["config"] / "Code"
        data_folder = environment.get("XDG_DATA_HOME") or home / ".local" / "share"
        self._own = Path(data_folder) / "day1"
        self._copies = Copies(self._own / "backups")

    @override
    def titles(self) -> dict[str, str]:
        return {name: client.title for name, client in CLIENTS.items()}

    @override
    def found(self) -> list[str]:
        return [
            name
            for name, client in CLIENTS.items()
            if any(self._path(folder).is_dir() for folder in client.found_by)
            or any(shutil.which(program) for program in client.programs)
        ]

    @override
    def run(
        self, request: Asked, *, write: bool, point: KillPoint
    ) -> tuple[list[Outcome], list[str]]:
        program, notes = _program(project=request.project)
        edits = list(self._edits(request, program))
        if not write:
            return [self._outcome(edit, request, None) for edit in edits], notes
        with self._alone():
            outcomes = [self._outcome(edit, request, point) for edit in edits]
        for client_name in dict.fromkeys(
            outcome.client for outcome in outcomes if outcome.state == "added"
        ):
            notes += CLIENTS[client_name].remarks
        return outcomes, notes

    def _edits(self, request: Asked, program: str) -> Iterator[Edit]:
        """List the edits of the clients' files; a shared file of instructions has one."""
        seen_notes_paths: set[Path] = set()
        for client_name in request.clients:
            files = self._files(client_name, request)
            yield from self._settings(client_name, files, program, request)
            if files.notes is not None:
                notes_path = self._path(files.notes.path)
                if notes_path not in seen_notes_paths and not (
                    request.remove and self._needed(notes_path, request)
                ):
                    is_brief = files.notes.brief and request.hooks
                    yield NotesEdit(
                        client_name, notes_path, files.notes, BRIEFLY if is_brief else INSTRUCTIONS
                    )
                seen_notes_paths.add(notes_path)

    def _settings(self, name: str, files: Files, program: str, request: Asked) -> Iterator[Edit]:
        """Yield the edits for a client's server and hooks: one for each file."""
        edits: list[ServerEdit | HooksEdit] = []
        if files.servers:
            edits.append(self._server(name, files, program, request))
        scope: Any = "project" if request.project else "user"
        if request.hooks or request.remove:
            if name in HOOKS:
                hooks_path = self._path(getattr(HOOKS[name], scope))
                edits.append(HooksEdit(name, hooks_path, HOOKS[name], program, request.project))
            elif name == "opencode":
                yield PluginEdit(name, self._path(PLUGIN[scope]), program)
        if len({edit.path for edit in edits}) < len(edits):
            yield JointEdit(edits)
        else:
            yield from edits

    def _server(self, name: str, files: Files, program: str, request: Asked) -> ServerEdit:
        candidate_paths = [self._path(candidate) for candidate in files.servers]
        path = next(
            (candidate for candidate in candidate_paths if os.path.lexists(candidate)),
            candidate_paths[0],
        )
        return ServerEdit(name, path, CLIENTS[name], program, request.tools, request.project)

    def _needed(self, path: Path, request: Asked) -> bool:
        """Whether a client that stays connected reads the same file of instructions."""
        for client_name in CLIENTS.keys() - set(request.clients):
            files = self._files(client_name, request)
            if files.servers and files.notes and self._path(files.notes.path) == path:
                server_edit = self._server(client_name, files, "", request)
                try:
                    data = read(server_edit.path) or b""
                    if server_edit.present(data) is not None or server_edit.by_hand(data):
                        return True
                except (NotTouched, NotUnderstood):
                    continue
        return False

    def _outcome(self, edit: Edit, request: Asked, point: KillPoint | None) -> Outcome:
        """Return the outcome for a file; with a `point` the file is written."""
        text_by_hand = "" if request.remove else edit.shown()
        try:
            data = read(edit.path)
            state, change = (self._removal if request.remove else self._addition)(edit, data)
            places_by_hand = [] if data is None else edit.by_hand(data)
            copy_path = None
            if change is not None:
                change.check()
                copy_path = carry_out(change, self._copies, point) if point else None
        except (NotTouched, NotUnderstood, RecursionError) as exc:
            problem = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
            return Outcome(edit.client, edit.path, edit.what, "refused", problem, text_by_hand)
        problem = (
            f"{_listed(places_by_hand)}: not in the form of `day1 setup`, so it stays as it is"
            if places_by_hand
            else ""
        )
        if places_by_hand and state in {"same", "absent"}:
            state = "kept"
        return Outcome(edit.client, edit.path, edit.what, state, problem, text_by_hand, copy_path)

    def _addition(self, edit: Edit, data: bytes | None) -> tuple[State, Change | None]:
        """Return what day1 would add to a file or correct in it."""
        data_or_blank = data or edit.blank
        present_part, data_after = edit.present(data_or_blank), edit.put(data_or_blank)
        if data == data_after or (data_or_blank == data_after and edit.by_hand(data_or_blank)):
            return "same", None
        return "added" if present_part is None else "changed", _change(edit, data, data_after)

    def _removal(self, edit: Edit, data: bytes | None) -> tuple[State, Change | None]:
        """Return what day1 would take out of a file."""
        present_part = None if data is None else edit.present(data)
        if data is None or present_part is None:
            return "absent", None
        original_in_tuple = self._before(edit, data, present_part)
        return "removed", _change(
            edit, data, original_in_tuple[0] if original_in_tuple else edit.take_out(data)
        )

    def _before(self, edit: Edit, data: bytes, present: Any) -> tuple[bytes | None] | None:
        """Return the file's content before day1 changed it, if nobody else has changed it since.

        The tuple holds None if day1 made the file. Return None if the file was changed since.
        """
        copies_without_day1 = [
            copy_content
            for copy_content in self._copies.of(edit.path)
            if _is_without(edit, copy_content)
        ]
        for copy_content in copies_without_day1 or [None]:
            try:
                if edit.put_again(copy_content or edit.blank, present) == data:
                    return (copy_content,)
            except NotUnderstood:
                continue
        return None

    def _files(self, name: str, request: Asked) -> Files:
        return CLIENTS[name].project if request.project else CLIENTS[name].user

    def _path(self, text: str) -> Path:
        place_name, _, path_in_place = text.partition("/")
        return self._places[place_name.strip("{}")] / path_in_place

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other day1 processes that edit clients' files, for the block."""
        try:
            self._own.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock_handle = take(self._own / "setup.lock", Patience(_WAIT_S))
        except OSError as exc:
            raise Refused(
                f"{self._own} cannot be written, and backups of clients' files are kept there: "
                "give yourself access, or name another folder with XDG_DATA_HOME."
            ) from exc
        if lock_handle is None:
            raise StoreBusy(f"Another `day1 setup` has run for {_WAIT_S:g} s; try again.")
        try:
            yield
        finally:
            lock_handle.close()


def _change(edit: Edit, before: bytes | None, after: bytes | None) -> Change:
    texts = [data or edit.blank for data in (before, after)]
    old_text, new_text = (Text(data, edit.own(data)) for data in texts)
    return Change(edit.path, before, after, (old_text, new_text), edit.separators)


def _is_without(edit: Edit, copy: bytes | None) -> bool:
    """Whether a copy holds nothing that day1 wrote."""
    try:
        return not copy or edit.present(copy) is None
    except NotUnderstood:
        return False


def _listed(places: Sequence[str]) -> str:
    first_places = ", ".join(places[:_FEW])
    return first_places if len(places) <= _FEW else f"{first_places} and {len(places) - _FEW} more"


def _program(*, project: bool) -> tuple[str, list[str]]:
    """Return the command that starts day1 in an entry, and notes on it for a person."""
    if shutil.which("day1"):
        return "day1", []
    program_path = Path(sys.executable).with_name("day1")
    if not project and program_path.is_file():
        return str(program_path), []
    return "day1", ["`day1` is not on the PATH: clients find it only there."]
