"""Configuration files as people write them, in odd forms, with a mark at each thing that is theirs.

Every name, value and comment that is not day1's holds a mark such as `t17`, which occurs once.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from day1.adapters.clients.hook_table import HOOKS, Hooks, command_of
from day1.adapters.clients.setup import ClientSetup
from day1.adapters.clients.table import CLIENTS, PLACES, SERVER, Client
from day1.formats.events import agent_of
from day1.ports.setup import Asked, Outcome

MARK: Final = re.compile(r"\bt\d+\b")
_GAPS: Final = ["", "", " ", "\n", "\n\t", "  \n  ", " \t"]
_ODD: Final = [None, 7, -1.5, True, "t", [], {}, [None], {"x": None}, ["day1", "mcp"], "day1 mcp"]
_AFTER: Final = ["; say {}", " && say {}", " | tee {}", " # {}", "\nsay {}", " --more {}"]
_BEFORE: Final = ["uvx ", "wsl -e ", "env X={} ", "cd {} && ", "${{workspaceFolder}}/{}/", "~/{}/"]


@dataclass
class Marks:
    """Marks for what is not day1's, each given once."""

    count: int = 0

    def new(self) -> str:
        """One more mark."""
        self.count += 1
        return f"t{self.count}"


@dataclass(frozen=True)
class Case:
    """One client, its files before a set-up, and whether something of day1's is in them."""

    client: str
    project: bool
    files: Mapping[str, bytes] = field(default_factory=dict)
    fresh: bool = True
    """Whether nothing of day1's is in any file, be it by hand."""


class Own(dict[str, Any]):
    """What `day1 setup` wrote."""


class Machine:
    """A home and a project in a folder, on which `day1 setup` works."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.setup = ClientSetup(self.home, self.project, {})
        self.copies = self.home / ".local" / "share" / "day1" / "backups"

    def path(self, place: str) -> Path:
        """A file that a table of clients names."""
        start, _, rest = place.partition("/")
        name = start.strip("{}")
        if name == "project":
            return self.project / rest
        default = PLACES[name][1]
        return Path(default.replace("~", str(self.home), 1)) / rest

    def run(self, case: Case, *, remove: bool = False) -> list[Outcome]:
        """Set the client of a case up, or take day1 out."""
        asked = Asked([case.client], case.project, remove=remove)
        return self.setup.run(asked, write=True, point=lambda _: None)[0]

    def write(self, case: Case) -> None:
        """Have the files of a case."""
        for place, data in case.files.items():
            path = self.path(place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def files(self) -> dict[Path, bytes]:
        """Every file but day1's own."""
        every = [*self.home.rglob("*"), *self.project.rglob("*")]
        own = self.home / ".local"
        return {p: p.read_bytes() for p in every if p.is_file() and not p.is_relative_to(own)}

    def kept(self) -> set[bytes]:
        """What the copies hold."""
        return {p.read_bytes() for p in self.copies.rglob("*") if p.is_file()}


def marks_in(data: bytes) -> list[str]:
    """The marks of a text, in their order."""
    return MARK.findall(data.decode("utf-8", "replace"))


def places(client: str, *, project: bool) -> Iterator[tuple[str, str]]:
    """The files of a client, each with its form: what set-up edits there."""
    files = CLIENTS[client].project if project else CLIENTS[client].user
    hooks = HOOKS.get(client)
    hooked = None if hooks is None else hooks.project if project else hooks.user
    if files.servers:
        form = "toml" if CLIENTS[client].format == "toml" else "servers"
        yield files.servers[0], "both" if files.servers[0] == hooked else form
    if hooked is not None and hooked not in files.servers:
        yield hooked, "hooks"
    if files.notes is not None:
        yield files.notes.path, "notes"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Files of one client, of which each may be missing."""
    client: str = draw(st.sampled_from(sorted(CLIENTS)))
    project: bool = draw(st.booleans())
    own: str = draw(st.sampled_from(["none", "none", "none", "own", "hand", "odd"]))
    marks, files = Marks(), {}
    for place, form in places(client, project=project):
        if draw(st.integers(0, 9)):
            text = draw(texts(client, form, own, marks))
            files[place] = draw(finished(text))
    return Case(client, project, files, fresh=own == "none")


@st.composite
def texts(draw: st.DrawFn, client: str, form: str, own: str, marks: Marks) -> str:
    """The text of one file."""
    if form == "notes":
        return draw(notes(marks, own))
    if not draw(st.integers(0, 11)):
        return draw(st.sampled_from(["", " ", "\n", "{}", "{ }\n", "{\t}", "\n\n{\n}\n\n"]))
    about = CLIENTS[client]
    if form == "toml":
        return draw(toml_texts(about, client, own, marks))
    value: dict[str, Any] = {}
    if form in {"servers", "both"}:
        value[about.key] = {marks.new(): draw(values(marks)) for _ in range(draw(_FEW))}
        if own != "none":
            value[about.key][SERVER] = draw(entries(about, client, own, marks))
    if form in {"hooks", "both"}:
        value["hooks"] = draw(hooks_of(HOOKS[client], client, own, marks))
    value |= {marks.new(): draw(values(marks)) for _ in range(draw(_FEW))}
    for key in ("hooks", about.key, "version"):
        if own == "odd" and not draw(st.integers(0, 5)):
            value[key] = draw(st.sampled_from(_ODD))
    names = draw(st.permutations(sorted(value)))
    return draw(written({name: value[name] for name in names}, marks))


_FEW: Final = st.integers(0, 3)


@st.composite
def values(draw: st.DrawFn, marks: Marks, depth: int = 0) -> Any:
    """A value of somebody else's."""
    kind = draw(st.integers(0, 7 if depth < 3 else 3))
    if kind == 0:
        return draw(st.sampled_from([None, True, False, 0, -1, 1.5, 10**17]))
    if kind <= 3:
        more = draw(st.sampled_from(["", " é", ' "q"', " // x", "\\", " /* y */", " 🌊", "}, ]"]))
        return f"{marks.new()}{more}"
    if kind <= 5:
        return [draw(values(marks, depth + 1)) for _ in range(draw(_FEW))]
    return {marks.new(): draw(values(marks, depth + 1)) for _ in range(draw(_FEW))}


@st.composite
def entries(draw: st.DrawFn, about: Client, client: str, own: str, marks: Marks) -> Any:
    """An entry of the server day1: day1's own with something more, by hand, or odd."""
    entry = about.entry(["day1", "mcp"], agent_of(client))
    if own == "own":
        if draw(st.booleans()):
            entry = about.entry(["/gone/bin/day1", "mcp"], agent_of(client))
        if draw(st.booleans()):
            entry["timeout"] = 9
        return Own(entry)
    if own == "odd":
        key = draw(st.sampled_from([*sorted(entry), "whole"]))
        odd = draw(st.sampled_from(_ODD))
        return odd if key == "whole" else Own({**entry, key: odd})
    mark = marks.new()
    words = draw(
        st.sampled_from(
            [
                ["uvx", "day1", "mcp"],
                ["uvx", "--from", mark, "day1", "mcp"],
                ["wsl", "-e", "day1", "mcp"],
                ["${workspaceFolder}/.venv/bin/day1", "mcp"],
                [".venv/bin/day1", "mcp", "--tools", mark],
                ["C:\\tools\\day1.exe", "mcp"],
                ["python", "-m", "day1", "mcp"],
                ["docker", "run", mark, "day1", "mcp"],
            ]
        )
    )
    return {**about.entry(words, agent_of(client)), mark: 1}


@st.composite
def hooks_of(draw: st.DrawFn, about: Hooks, client: str, own: str, marks: Marks) -> Any:
    """The hooks of others, beside those of day1, of day1 by hand, or odd ones."""
    events: dict[str, Any] = {}
    for event in draw(st.lists(st.sampled_from([*about.events, "Other"]), unique=True, max_size=4)):
        entries = [about.shape(f"say {marks.new()}", {}) for _ in range(draw(_FEW))]
        told, more = about.events.get(event, ("old", {}))
        command = command_of("day1", told, client)
        if own == "own":
            entries.append(Own(about.shape(command, more)))
        elif own == "hand":
            side = draw(st.booleans())
            mark = draw(st.sampled_from(_BEFORE if side else _AFTER)).format(marks.new())
            entries.append(about.shape(mark + command if side else command + mark, {}))
        elif own == "odd":
            entry = about.shape(command, more)
            inner = draw(st.sampled_from([entry, *entry.get("hooks", ())]))
            inner[draw(st.sampled_from([*sorted(inner), "type"]))] = draw(st.sampled_from(_ODD))
            entries.append(Own(entry))
        events[event] = draw(st.permutations(entries))
    return events


@st.composite
def written(draw: st.DrawFn, value: Any, marks: Marks) -> str:
    """A value as JSON with comments, trailing commas, and any space."""
    commented: bool = draw(st.booleans())
    trails: bool = draw(st.booleans())

    def gap() -> str:
        text: str = draw(st.sampled_from(_GAPS))
        kind = draw(st.integers(0, 7)) if commented else 7
        if kind == 0:
            return f"{text}// {marks.new()} }}\n"
        return f"{text}/* {marks.new()} ] */" if kind == 1 else text

    def shown(part: Any) -> str:
        if isinstance(part, Own):  # a comment in there would go with it
            return json.dumps(part)
        if not isinstance(part, (dict, list)) or not part:
            return json.dumps(part, ensure_ascii=draw(st.booleans()))
        opened, closed = "{}" if isinstance(part, dict) else "[]"
        parts = (
            [
                f"{json.dumps(k)}: {shown(v)}"
                if isinstance(v, Own)
                else f"{json.dumps(k)}{gap()}:{gap()}{shown(v)}"
                for k, v in part.items()
            ]
            if isinstance(part, dict)
            else [shown(each) for each in part]
        )
        inner = ",".join(f"{gap()}{each}{gap()}" for each in parts)
        return f"{opened}{inner}{',' + gap() if trails else ''}{closed}"

    if draw(st.integers(0, 2)):
        return gap() + shown(value) + gap()
    return json.dumps(value, indent=draw(st.sampled_from([None, 1, 2, 4, "\t"])))


@st.composite
def toml_texts(draw: st.DrawFn, about: Client, client: str, own: str, marks: Marks) -> str:
    """A TOML file."""
    table = about.key
    forms = [
        lambda: f"# {marks.new()}",
        lambda: "",
        lambda: f"[{marks.new()}]\na = 1 # {marks.new()}",
        lambda: (
            f'[{table}.{marks.new()}]\ncommand = "{marks.new()}"\nargs = [ # {marks.new()}\n "x",\n]'
        ),
        lambda: (
            f'["{marks.new()}".b]\nx = """\n[{table}.day1]\n{marks.new()} """\ny = \'{marks.new()}\''
        ),
        lambda: f"[[{marks.new()}]]\nx = 1979-05-27 07:32:00",
        lambda: f'[{marks.new()}]\nd.e = {{ f = "{marks.new()}", g = [] }}',
    ]
    tops = [f'{marks.new()} = "{marks.new()}" # {marks.new()}' for _ in range(draw(_FEW))]
    parts = [draw(st.sampled_from(forms))() for _ in range(draw(_FEW))]
    if own != "none":
        words = {"own": ["day1"], "hand": ["uvx", "day1"], "odd": ["day1"]}[own]
        mark = marks.new()
        entry = draw(
            st.sampled_from(
                [
                    f'[{table}.day1]\ncommand = "{words[0]}"\nargs = {json.dumps([*words[1:], "mcp"])}\n'
                    f'env = {{DAY1_AGENT_ID = "codex"}}\n\n# {mark}',
                    f'[{table}.day1]\ncommand = "{words[0]}"\nargs = {json.dumps([*words[1:], "mcp"])}\n'
                    f'[{table}.day1.env]\nDAY1_AGENT_ID = "codex" # {mark}',
                    f'[{table}]\nday1.command = "{words[0]}" # {mark}\n'
                    f"day1.args = {json.dumps([*words[1:], 'mcp'])}",
                ]
            )
        )
        if own == "odd":
            entry = entry.replace('"mcp"', draw(st.sampled_from(["7", '["mcp"]', "1.5, true"])))
        parts.insert(draw(st.integers(0, len(parts))), entry)
    end = draw(st.sampled_from(["", "\n", "\n\n", f" # {marks.new()}\n"]))
    return "\n".join([*tops, *parts]) + end


@st.composite
def notes(draw: st.DrawFn, marks: Marks, own: str) -> str:
    """A file of instructions."""
    lines = st.sampled_from(["# {}", "", "- {} é", "    {}", "```", "<!-- {} -->", "{}  ", "---"])
    above, below = (
        "\n".join(each.format(marks.new()) for each in draw(st.lists(lines, max_size=4)))
        for _ in range(2)
    )
    if own != "own":
        return above
    section = "<!-- BEGIN day1 (older) -->\nold\n<!-- END day1 -->"
    return f"{above}\n\n{section}\n{below}"


@st.composite
def finished(draw: st.DrawFn, text: str) -> bytes:
    """A text as bytes: its line ends, a mark of its encoding, and with or without a last newline."""
    line: str = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "mixed"]))
    if not draw(st.integers(0, 4)):
        text = text.rstrip()
    start = draw(st.sampled_from(["", "", "", "\ufeff"]))
    if line != "mixed":
        return (start + text.replace("\n", line)).encode()
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=3, max_size=3))
    parts = text.split("\n")
    joined = "".join(part + ends[place % 3] for place, part in enumerate(parts[:-1]))
    return (start + joined + parts[-1]).encode()
