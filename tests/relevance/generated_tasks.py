"""Generated tasks of five agents.

A task has a goal, and each agent writes 40 notes on a branch of its own. Eight notes all must know:
an agent finds each, and two others say it again in other words. Five of them share words with the
goal, and two of these contradict each other. Three share no word with the goal; they are linked
with others. 150 further notes share words with the goal, and 26 are about something else.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

AGENTS: Final = ("ada", "bo", "cyd", "dov", "eli")
NOTES: Final = 40
SERVICES = ["Kestrel", "Osprey", "Merlin", "Harrier", "Goshawk", "Falcon", "Buzzard", "Kite"]
HOSTS = ["Selm", "Brakel", "Unna", "Hamm", "Soest", "Lippe", "Ahaus", "Borken"]
WORK = (
    ("uploads", "retry", "queue", "night"),
    ("invoices", "export", "ledger", "month"),
    ("payments", "refund", "gateway", "weekend"),
    ("backups", "restore", "archive", "holiday"),
    ("reports", "render", "template", "morning"),
)
WITH_GOAL = (
    (
        "{s} stops accepting {a} when the disk of {h} is full.",
        "When the disk of {h} is full, {s} stops accepting {a}.",
        "{a}: {s} stops accepting them once the disk on {h} is full.",
    ),
    (
        "The {b} ignores the deadline of its caller on {h}.",
        "On {h} the {b} ignores the deadline that its caller has.",
        "The deadline of its caller is what the {b} on {h} ignores.",
    ),
    (
        "A restart of {s} empties the {c} without warning anybody.",
        "Without warning anybody, a restart of {s} empties the {c}.",
        "The {c} is what a restart of {s} empties, without warning anybody.",
    ),
    (
        "Two workers of {s} share one lock file on {h}.",
        "On {h} two workers of {s} share one lock file.",
        "One lock file on {h} is what two workers of {s} share.",
    ),
    (
        "{a} above two megabytes are cut by the proxy of {h}.",
        "The proxy of {h}: {a} above two megabytes are cut by it.",
        "By the proxy of {h} those {a} are cut that are above two megabytes.",
    ),
    (
        "The {b} runs by the clock of {h}, an hour late.",
        "An hour late is the clock of {h}, by which the {b} runs.",
        "By the clock of {h}, which is an hour late, runs the {b}.",
    ),
    (
        "{s} was built without the patch for large {a}.",
        "Without the patch for large {a}: so {s} was built.",
        "The patch for large {a} is what {s} was built without.",
    ),
    (
        "Every {d} the {c} is copied to {h} while in use.",
        "While in use, the {c} is copied to {h} every {d}.",
        "To {h} the {c} is copied every {d}, while it is in use.",
    ),
)
"""Facts that share words with the goal, each in three wordings."""
CONTRADICTING = (
    (
        "{s} waits {n} seconds before each {b}.",
        "Before each {b} {s} waits {n} seconds.",
        "{n} seconds: so long {s} waits before each {b}.",
    ),
    (
        "The {c} holds {n} megabytes before the writer flushes.",
        "Before the writer flushes, the {c} holds {n} megabytes.",
        "{n} megabytes is what the {c} holds before the writer flushes.",
    ),
    (
        "At {d} {h} allows {n} connections of {s}.",
        "{h} allows {n} connections of {s} at {d}.",
        "{n} connections of {s} is what {h} allows at {d}.",
    ),
)
"""Facts that contradict one another with another number."""
LINKED_ONLY = (
    (
        "Port 7001 drops idle connections after a minute.",
        "After a minute port 7001 drops connections that are idle.",
        "Idle connections: port 7001 drops them after a minute.",
    ),
    (
        "Only Ines in Porto may change the firewall.",
        "The firewall: only Ines may change it, in Porto.",
        "Change the firewall: only Ines in Porto may.",
    ),
    (
        "The certificate must come from the old authority.",
        "The old authority is where the certificate must come from.",
        "It must come from the old authority, the certificate.",
    ),
    (
        "The vendor answers tickets within two days in English.",
        "Within two days the vendor answers tickets, in English.",
        "Tickets in English: the vendor answers within two days.",
    ),
    (
        "A cable in rack four is labelled wrongly.",
        "Labelled wrongly: a cable in rack four.",
        "In rack four there is a cable that is labelled wrongly.",
    ),
    (
        "The contract forbids deleting anything before March.",
        "Before March the contract forbids deleting anything.",
        "Deleting anything before March: the contract forbids it.",
    ),
)
"""Facts without a word of the goal."""
LINKS = ((5, 0), (6, 5), (7, 1))
"""Which must-know fact is linked with which."""
CONTRADICTION = (3, 4)
FACTS: Final = 8
WHO = [
    "Ann",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gus",
    "Hana",
    "Ivo",
    "Jana",
    "Kai",
    "Lea",
    "Max",
    "Nora",
    "Omar",
    "Pia",
]
DID = [
    "asked",
    "discussed",
    "reviewed",
    "sketched",
    "tested",
    "measured",
    "planned",
    "renamed",
    "moved",
    "described",
]
HOW = ["briefly", "twice", "again", "together", "alone", "yesterday", "carefully", "later"]
OF = [
    "colours",
    "prices",
    "names",
    "layout",
    "wording",
    "owners",
    "costs",
    "history",
    "charts",
    "fonts",
    "icons",
    "tests",
    "logs",
]
FOR = [
    "newsletter",
    "workshop",
    "customer",
    "intern",
    "auditor",
    "landlord",
    "board",
    "visitor",
    "printer",
    "museum",
]
LUNCH = ["soup", "bread", "rice", "beans", "salad", "pasta", "stew", "curry", "pie", "noodles"]


@dataclass(frozen=True)
class Note:
    """A note of an agent."""

    id: str
    agent: str
    text: str
    must_know: int | None = None
    """The number of the fact that it says, if all must know it."""


@dataclass(frozen=True)
class TeamTask:
    """A task: its goal, notes and links."""

    number: int
    goal: str
    notes: tuple[Note, ...]
    links: tuple[tuple[str, str], ...]

    def known(self, agent: str) -> set[int]:
        """The must-know facts that an agent wrote itself."""
        return {n.must_know for n in self.notes if n.agent == agent and n.must_know is not None}

    @property
    def fact_of(self) -> dict[str, int]:
        """The must-know fact that a note says, by its id."""
        return {n.id: n.must_know for n in self.notes if n.must_know is not None}


def made_task(number: int) -> TeamTask:
    """Make a task; the same number gives the same task."""
    chance = random.Random(number)
    service, host = chance.choice(SERVICES), chance.choice(HOSTS)
    a, b, c, d = chance.choice(WORK)
    words = {"s": service, "h": host, "a": a, "b": b, "c": c, "d": d}
    goal = f"Find why {service} loses {a} at {d}, and repair the {b} and the {c}."
    texts: dict[str, list[tuple[str, int | None]]] = {agent: [] for agent in AGENTS}
    finder: dict[int, str] = {}
    for fact, wordings in enumerate(_must_know(chance)):
        sayers = chance.sample(AGENTS, 3)
        words["n"] = "60" if fact == CONTRADICTION[1] else "30"
        linked = next((other for one, other in LINKS if one == fact), None)
        if linked is not None:  # who links two notes has both
            first = finder[linked]
            sayers = [first, *[agent for agent in sayers if agent != first]][:3]
        finder[fact] = sayers[0]
        for agent, wording in zip(sayers, wordings, strict=True):
            texts[agent].append((wording.format_map(words), fact))
    others = [_distractor(chance, words) for _ in range(150)] + [_lunch(chance) for _ in range(26)]
    chance.shuffle(others)
    for agent in AGENTS:
        while len(texts[agent]) < NOTES and others:
            texts[agent].append((others.pop(), None))
        chance.shuffle(texts[agent])
    notes = tuple(
        Note(f"fact_{number:03}_{agent}_{place:02}", agent, text, fact)
        for agent in AGENTS
        for place, (text, fact) in enumerate(texts[agent])
    )
    of_finder = {(n.agent, n.must_know): n.id for n in notes if n.must_know is not None}
    links = tuple(
        (of_finder[finder[one], one], of_finder[finder[other], other]) for one, other in LINKS
    )
    return TeamTask(number, goal, notes, links)


def _must_know(chance: random.Random) -> list[tuple[str, str, str]]:
    """The wordings of the facts that all must know."""
    contradicting = chance.choice(CONTRADICTING)
    some = [*chance.sample(WITH_GOAL, 3), contradicting, contradicting]
    return [*some, *chance.sample(LINKED_ONLY, 3)]


def _distractor(chance: random.Random, words: Mapping[str, str]) -> str:
    """A note that shares words with the goal, and that nobody must know."""
    one, other = chance.sample([words[name] for name in "sabcd"], 2)
    who, whom = chance.sample(WHO, 2)
    return (
        f"{who} {chance.choice(DID)} the {chance.choice(OF)} of the {one} {chance.choice(HOW)} "
        f"with {whom} for the {chance.choice(FOR)} and the {other}."
    )


def _lunch(chance: random.Random) -> str:
    one, other = chance.sample(LUNCH, 2)
    return f"{chance.choice(WHO)} had {one} with {other} and liked the {chance.choice(OF)} of it."
