"""Every regular expression of the package, and the texts that are hard for it."""

import ast
import importlib
import pkgutil
import re
import re._constants as op  # type: ignore[import-not-found]  # Python has no public ones
import re._parser as parser  # type: ignore[import-not-found]  # it has no stubs
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import day1
from day1.adapters.judges import injection
from day1.adapters.mysql import failures
from day1.interfaces.mcp import resources

LENGTH = 32 * 1024

MADE_OF_DATA: dict[tuple[str, str], list[str]] = {
    ("day1.interfaces.mcp.resources", "pattern"): [str(row[0]) for row in resources._READERS],
    ("day1.adapters.mysql.failures", "pattern"): [row[0] for row in failures._BY_WORDS],
    ("day1.adapters.judges.injection", "'|'.join(patterns)"): [
        injection._order().pattern,
        *(f"(?i:{order})" for order in injection._ORDERS),
    ],
    ("day1.adapters.embedders.install", "connected"): [
        r"\d%\|",
        "Downloading|Using cached|Processing|Saved",
    ],
}
"""What a call like `re.match(pattern, ...)` is given, where a module's names alone do not say."""

_STARTS = frozenset(("match", "fullmatch"))
_CALLS = frozenset(
    ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
)


class Pattern(NamedTuple):
    """A regular expression, where it stands, and how it is used."""

    where: str
    compiled: re.Pattern[Any]
    used: frozenset[str]
    """As what: `match`, `fullmatch`, `search` (and what searches, as `sub`)."""

    def tries(self) -> list[Callable[[Any], object]]:
        """The ways of using it that it must bear."""
        ways: dict[str, Callable[[Any], object]] = {
            "match": self.compiled.match,
            "fullmatch": self.compiled.fullmatch,
            "search": lambda text: [None for _ in self.compiled.finditer(text)],
        }
        return [ways[name] for name in sorted(self.used)]


def every_pattern() -> list[Pattern]:
    """All of them: in modules, classes and tables by looking, in functions by their source."""
    found: dict[tuple[Any, int], Pattern] = {}
    for module in _modules():
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        kept_here = list(_kept(module))
        if not kept_here and not re.search(r"\bre\.", text):
            continue  # most modules: to parse them takes longer than all else here
        source = ast.parse(text)
        uses = _uses(source)
        here = [
            Pattern(f"{module.__name__}.{name}", one, _used(uses[name])) for name, one in kept_here
        ]
        kept = {one.compiled for one in here}
        called = [one for one in _called(module, source) if one.compiled not in kept]
        for one in (*here, *called):
            key = one.compiled.pattern, one.compiled.flags
            known = found.setdefault(key, one)
            found[key] = known._replace(used=known.used | one.used)
    return list(found.values())


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(day1.__path__, "day1."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _kept(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The compiled ones that a module keeps, with the name under which they are found."""
    for name, value in list(vars(module).items()):
        for one in _within(value, module.__name__):
            yield name, one


def _within(value: object, module: str, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _within(one, module, depth - 1)
    elif depth and isinstance(value, dict):
        yield from _within(list(value.items()), module, depth - 1)
    elif depth and isinstance(value, type) and value.__module__ == module:
        yield from _within(list(vars(value).values()), module, depth - 1)


def _uses(source: ast.AST) -> dict[str, set[str]]:
    """Name -> what is called on it; a name that is handed on may be used in any way."""
    uses: dict[str, set[str]] = defaultdict(set)
    called = set()
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses[node.value.id].add(node.attr)
            called.add(node.value)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in called:
            uses[node.id].add("handed on")
    return uses


def _used(calls: set[str]) -> frozenset[str]:
    """Of a name that is handed on or never called here, all ways."""
    if not calls or "handed on" in calls:
        return frozenset((*_STARTS, "search"))
    return frozenset(call if call in _STARTS else "search" for call in calls)


def _called(module: ModuleType, source: ast.AST) -> Iterator[Pattern]:
    """Those that calls like `re.sub("a+", ...)` make, wherever they stand."""
    for node in ast.walk(source):
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute):
            continue
        if ast.unparse(called.value) != "re" or called.attr not in _CALLS:
            continue
        said = ast.unparse(node.args[0])
        given = [*node.args[1:], *(k.value for k in node.keywords)]
        flags = [eval(ast.unparse(a)) for a in given if ast.unparse(a).startswith("re.")]
        for text in MADE_OF_DATA.get((module.__name__, said)) or [eval(said, vars(module))]:
            where = f"{module.__name__}:{node.lineno}"
            one = re.compile(text, *flags)
            yield Pattern(where, one, _used({called.attr} - {"compile"}))


# What is hard for a pattern: many starts at which much is read in vain.

_ANY = "aA1_ -./:@+=\n\t!?,;'\"`<>{}[]()#*|~%\\&^$\u00e9\u0434\u6f22"
_COMMON = (
    *("a", "A", "1", " ", "\n", "\t", "_", "-", ".", ",", "\"", "`", "<", "{", "[", "\u00e9", "\u6f22"),
    *("a-", "a.", "a/", "a_", "a ", "aA", "a1", "1.", "1,", "-1", "1 ", "x'", "b@c", " <", "a\n"),
    *("eyJ-", "eyJ.", "the ", "-- ", "# ", "=", ", ", "\u0301"),
)  # fmt: skip
_WITNESSES = 3


def hard_texts(pattern: str | bytes, flags: int) -> Iterator[str]:
    """Runs of what the pattern itself repeats, and of common things, each with a near miss."""
    tree = parser.parse(pattern, flags)
    pumps = dict.fromkeys((*_COMMON, *_witnesses(tree)))
    for before, pump in dict.fromkeys(_repeats(tree)):
        pumps.update(dict.fromkeys((pump, before + pump, f"{before}{pump} ")))
        if before:
            yield before + _run(pump)
            yield f"{before}{_run(pump)}\0"
    for pump in filter(None, pumps):
        yield _run(pump)
        yield f"{_run(pump)}\0"


def _run(pump: str) -> str:
    return (pump * (LENGTH // len(pump) + 1))[: LENGTH - 1]


def _witnesses(tree: Any) -> list[str]:
    """A few texts that a part of a pattern matches."""
    found = [""]
    for node in tree:
        found = [text + more for more in _witness(*node) for text in found][: 2 * _WITNESSES]
    return list(dict.fromkeys(found))


def _witness(code: Any, value: Any) -> list[str]:
    if code is op.LITERAL:
        return [chr(value)]
    if code is op.NOT_LITERAL:
        return [one for one in _ANY if ord(one) != value][:_WITNESSES]
    if code is op.ANY:
        return ["a", " "]
    if code is op.IN:
        return _members(value)[:_WITNESSES]
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [text * max(value[0], 1) for text in _witnesses(value[2])]
    if code is op.SUBPATTERN:
        return _witnesses(value[-1])
    if code is op.ATOMIC_GROUP:
        return _witnesses(value)
    if code is op.BRANCH:
        return [text for branch in value[1] for text in _witnesses(branch)[:1]]
    return [""]


_CATEGORIES: dict[Any, str] = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


def _members(parts: Any) -> list[str]:
    """Some characters of a class, of each of its parts one if that can be."""
    own = [chr(v if c is op.LITERAL else v[0]) for c, v in parts if c in (op.LITERAL, op.RANGE)]

    def has(one: str) -> bool:
        for code, value in parts:
            if (
                (code is op.LITERAL and ord(one) == value)
                or (code is op.RANGE and value[0] <= ord(one) <= value[1])
                or (code is op.CATEGORY and re.match(_CATEGORIES[value], one))
            ):
                return True
        return False

    negated = parts[0][0] is op.NEGATE
    return [one for one in dict.fromkeys((*own, *_ANY)) if has(one) != negated] or ["x"]


def _repeats(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What a pattern repeats, each with the shortest text that leads there."""
    for code, value in tree:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from ((before, text) for text in _witnesses(value[2]) if text)
            yield from _repeats(value[2], before)
        elif code is op.SUBPATTERN:
            yield from _repeats(value[-1], before)
        elif code is op.ATOMIC_GROUP:
            yield from _repeats(value, before)
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        before += _witness(code, value)[0]
