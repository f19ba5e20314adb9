"""Search counts the words of the memories that were written beside a memory, where order tells.

The embedder is the hashing fake: texts that share words are near.
"""

import random
from dataclasses import replace

import pytest

from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.search.ranking import Weights
from day1.services.conversations.messages import MessageRequest, NewMessage, add_message
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search import usual
from day1.services.search.candidates import SearchLimits
from day1.services.search.filters import Filter
from day1.services.search.known_entries import KnownEntries
from day1.services.search.live_query import LiveQuery
from day1.services.search.search_engine import SearchEngine
from day1.services.search.views import ViewCache, state_of
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.searched_memory import Asking
from tests.flows.searched_memory import ask as ask  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import memory as memory  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import search_engine as search_engine  # noqa: PLC0414 - a fixture
from tests.suites.engine_memory import EngineMemory

MINUTE = 60_000_000
TOPICS = ("garden", "engine", "choir", "boat", "bakery", "office", "market", "school", "bridge")
TOLD = ("opened late", "needs paint", "was quiet", "looked full", "costs more", "closed early")
OTHERS = ("They moved chairs.", "He moved house.", "We moved desks.", "Someone moved boxes.")
QUESTION = "where did the sister move?"


def note(memory: EngineMemory, name: str, text: str, session: str, later: int = MINUTE) -> None:
    """Write a note of a session, so long after the last one."""
    memory.clock.tick(later)
    memory.add_fact("main", f"fact_{name}", fact_text=text, session_id=session)


def sessions() -> list[tuple[str, str]]:
    """Texts with their sessions, each of which stays with its topic."""
    return [(f"our {topic} {told}", topic) for topic in TOPICS for told in (*TOLD, "came up")]


def write_sessions(memory: EngineMemory, shuffled: int | None = None) -> None:
    """Write them in their order, or in a random one as one session."""
    told = sessions()
    if shuffled is not None:
        random.Random(shuffled).shuffle(told)
    for number, (text, topic) in enumerate(told):
        note(memory, f"{number:03}", text, topic if shuffled is None else "one")


def write_others(memory: EngineMemory) -> None:
    for number, text in enumerate(OTHERS):
        note(memory, f"other{number}", text, f"other{number}")


def ordered(memory: EngineMemory, search_engine: SearchEngine) -> bool:
    """Whether the order of main's facts is taken to mean something."""
    ref, history, index = Ref(branch="main"), memory.store.history, search_engine.index
    assert search_engine.embedder is not None
    with (
        memory.store.reading(ref) as reading,
        search_engine.views.at(reading, ref, Filter(FACT), history, index) as view,
    ):
        state = state_of(reading, ref)
        return search_engine.common_words.at(state, view, index, search_engine.embedder).ordered


def before_all_others(ask: Asking, **request) -> bool:
    """Whether the answer comes before every memory that has one word of the question alone."""
    ids = ask.ids(QUESTION, wait=True, limit=50, **request)
    places = [ids.index(f"fact_other{number}") for number in range(len(OTHERS))]
    return "fact_lisbon" in ids and ids.index("fact_lisbon") < min(places)


# Words in context


def test_a_memory_is_found_by_the_words_of_the_one_before_it(memory, ask, search_engine):
    write_sessions(memory)
    write_others(memory)
    note(memory, "sister", "My sister called today.", "talk")
    note(memory, "lisbon", "She moved to Lisbon.", "talk")
    assert before_all_others(ask)
    alone = replace(search_engine, weights=Weights(neighbour_shares=()))
    assert not before_all_others(Asking(memory, alone))
    assert not before_all_others(ask, mode="keyword")


def test_a_long_memory_gets_less_of_the_words_before_it(memory, search_engine):
    write_sessions(memory)
    note(memory, "sister", "My sister called today.", "talk")
    note(memory, "lisbon", "She moved to Lisbon." + " and more filler" * 67, "talk")
    without = replace(
        search_engine, weights=Weights(neighbour_shares=(), words_boost=0, beside_boost=0)
    )
    some = replace(search_engine, weights=Weights(words_boost=0, beside_boost=0))
    every = replace(search_engine, weights=replace(some.weights, neighbour_words=999))
    least, less, most = (
        next(
            hit.score
            for hit in asked(QUESTION, wait=True, limit=50).hits
            if hit.row["id"] == "fact_lisbon"
        )
        for asked in (Asking(memory, each) for each in (without, some, every))
    )
    assert least < less < (least + most) / 2


def test_so_it_is_among_so_many_that_sql_is_asked(memory, ask, search_engine, monkeypatch):
    write_sessions(memory)
    write_others(memory)
    note(memory, "sister", "My sister called today.", "talk")
    note(memory, "lisbon", "She moved to Lisbon.", "talk")
    exactly = ask.ids(QUESTION, wait=True, limit=20)
    views = ViewCache()
    monkeypatch.setattr(views, "at", None)  # nothing is held
    live = Asking(memory, replace(search_engine, limits=SearchLimits(exact_rows=0), views=views))
    assert before_all_others(live)
    assert live.ids(QUESTION, wait=True, limit=20) == exactly


def test_sql_tells_the_same_neighbours_as_a_view(memory, ask, search_engine):
    write_sessions(memory)
    ask("all of it", mode="keyword")
    ref, wanted = Ref(branch="main"), Filter(FACT)
    with (
        memory.store.reading(ref) as reading,
        search_engine.views.at(
            reading, ref, wanted, memory.store.history, search_engine.index
        ) as view,
    ):
        known = KnownEntries(FACT, wanted.view_query)
        live = LiveQuery(wanted, reading, search_engine.index, len(view), known)
        entries = view.entries(view.texts(wanted), wanted)
        for number, entry in enumerate(entries):
            (line,) = live.around([entry], 2)
            assert [line] == view.around([entry], 2)
            assert 3 <= len(line) <= 5
            far = entries[(number + 20) % len(entries)]
            both = live.around([entry, far], 2)
            assert sorted(both) == sorted(view.around([entry, far], 2))
        assert sorted(live.beside(400)) == sorted(view.beside(400))


@pytest.mark.parametrize(
    ("later", "session"), [(61 * MINUTE, "talk"), (MINUTE, "another"), (0, "talk")]
)
def test_a_long_pause_another_session_and_one_unit_of_work_end_a_line(
    memory, ask, search_engine, later, session
):
    write_sessions(memory)
    write_others(memory)
    if later:
        note(memory, "sister", "My sister called today.", "talk", 61 * MINUTE)
        note(memory, "lisbon", "She moved to Lisbon.", session, later)
    else:
        memory.clock.tick(61 * MINUTE)
        with memory.store.adding("main") as work:
            texts = {"sister": "My sister called today.", "lisbon": "She moved to Lisbon."}
            origin = Origin("one", "talk")
            new = [
                fact_row(f"fact_{name}", NewFact(text), origin, work.now)
                for name, text in texts.items()
            ]
            work.add(FACT, new)
    assert not before_all_others(ask)
    assert ordered(memory, search_engine)


def test_a_memory_with_all_words_itself_stays_before_its_neighbours(memory, ask):
    write_sessions(memory)
    note(memory, "before", "Then a phone rang.", "talk")
    note(memory, "all", "My sister moved to Lisbon.", "talk")
    note(memory, "after", "So we had tea.", "talk")
    ids = ask.ids(QUESTION, wait=True)
    assert ids[0] == "fact_all"
    assert {"fact_before", "fact_after"} <= set(ids)


def test_a_neighbour_that_is_not_wanted_lends_its_words_and_is_not_found(memory, ask):
    write_sessions(memory)
    write_others(memory)
    note(memory, "sister", "My sister called today.", "talk")
    memory.clock.tick(MINUTE)
    memory.add_fact(
        *("main", "fact_lisbon"),
        fact_text="She moved to Lisbon.",
        session_id="talk",
        category="news",
    )
    with_it = ask(QUESTION, category="news", wait=True).hits
    alone = Asking(memory, replace(ask.search_engine, weights=Weights(neighbour_shares=())))
    without = alone(QUESTION, category="news", wait=True).hits
    assert [hit.row["id"] for hit in with_it] == ["fact_lisbon"]
    assert with_it[0].score > without[0].score


def test_a_view_keeps_the_order_while_rows_come_change_and_go(memory, ask):
    write_sessions(memory)
    write_others(memory)
    note(memory, "sister", "My sister called today.", "talk")
    note(memory, "lisbon", "She moved to Lisbon.", "talk")
    assert before_all_others(ask)
    memory.store.commit_pending("main")
    assert before_all_others(ask)
    memory.update_fact("main", "fact_sister", fact_text="My brother called today.")
    assert not before_all_others(ask)
    memory.update_fact("main", "fact_sister", fact_text="My sister called today.")
    assert before_all_others(ask)
    memory.remove("main", "fact_sister")
    assert not before_all_others(ask)
    for limit in (49, 50):
        anew = Asking(memory, replace(ask.search_engine, views=ViewCache()))
        ids = ask.ids(QUESTION, wait=True, limit=limit)
        assert anew.ids(QUESTION, wait=True, limit=limit) == ids


# Where order means nothing


def test_an_order_that_means_nothing_changes_nothing(memory, search_engine):
    write_sessions(memory, shuffled=3)
    alone = Asking(memory, replace(search_engine, weights=Weights(neighbour_shares=())))
    ask = Asking(memory, search_engine)
    ask("all of it", wait=True)
    assert ordered(memory, search_engine) is False
    for topic in TOPICS:
        question = f"why was the {topic} late?"
        with_it, without = ask(question, wait=True).hits, alone(question, wait=True).hits
        assert [(h.row["id"], h.score) for h in with_it] == [
            (h.row["id"], h.score) for h in without
        ]


@pytest.mark.parametrize(("shuffled", "means"), [(None, True), (3, False)])
def test_words_judge_an_order_until_enough_have_vectors(memory, search_engine, shuffled, means):
    write_sessions(memory, shuffled)
    waiting = replace(search_engine, embedded_at_once=0)
    Asking(memory, waiting)("nothing yet")
    assert ordered(memory, waiting) is means


def test_vectors_judge_an_order_anew_when_enough_have_them(memory, search_engine, monkeypatch):
    write_sessions(memory)
    monkeypatch.setattr(usual, "_share_words", lambda *_: False)
    Asking(memory, replace(search_engine, embedded_at_once=0))("nothing yet")
    assert ordered(memory, search_engine) is False
    Asking(memory, search_engine)("all of it", wait=True)
    assert ordered(memory, search_engine) is True


def test_speakers_who_take_turns_are_judged_by_what_they_say(memory, ask, search_engine):
    for talk, topic in enumerate(TOPICS):
        for turn, told in enumerate((*TOLD, "came up", "went down")):
            speaker = ("Ada", "Bela")[(talk + turn) % 2]
            note(memory, f"{topic}{turn}", f"{speaker}, {speaker} says: {topic} {told}", topic)
    ask("all of it", wait=True)
    assert ordered(memory, search_engine) is True


def test_few_pairs_tell_nothing(memory, ask, search_engine):
    told = sessions()
    for number, (text, topic) in enumerate(told):
        if topic == TOPICS[-1]:
            break
        note(memory, f"{number:03}", text, topic)
    ask("all of it", wait=True)
    assert ordered(memory, search_engine) is False
    for number, (text, topic) in enumerate(told):
        if topic == TOPICS[-1]:
            note(memory, f"{number:03}", text, topic)
    ask("all of it", wait=True)
    assert ordered(memory, search_engine) is True


# Names


class Listening(HashingEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def embed(self, texts):
        self.heard += texts
        return super().embed(texts)


def test_a_name_is_looked_up_and_lifts_but_is_not_embedded(memory, search_engine):
    names = ("Ada", "Bela", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana")
    things = ("tea", "maps", "rain", "trains")
    for name in names:
        for thing in things:
            note(memory, f"{name}_{thing}".lower(), f"{name} likes {thing} best of all", name)
    listening = Listening()
    ask = Asking(memory, replace(search_engine, embedder=listening))
    found = ask("what does dora like about the old boat?", wait=True)
    assert {str(hit.row["id"]) for hit in found.hits[:4]} == {f"fact_dora_{t}" for t in things}
    assert "what does like about the old boat?" in listening.heard
    assert min(hit.keyword for hit in found.hits[:4]) > 0


def test_the_word_of_a_project_is_embedded_although_all_its_notes_have_it(memory, search_engine):
    for number in range(40):
        topic, told = TOPICS[number % len(TOPICS)], TOLD[number % len(TOLD)]
        note(memory, f"{number}", f"{topic.title()} of the database {told} in {number}", "one")
    listening = Listening()
    ask = Asking(memory, replace(search_engine, embedder=listening))
    ask("which database was quiet?", wait=True)
    assert "which database was quiet?" in listening.heard


def test_the_word_with_which_all_notes_open_is_not_embedded(memory, search_engine):
    for number in range(40):
        note(memory, f"{number}", f"The user {TOLD[number % len(TOLD)]} in {number}", "one")
    listening = Listening()
    ask = Asking(memory, replace(search_engine, embedder=listening))
    ask("which user was quiet?", wait=True)
    assert "which was quiet?" in listening.heard


# Several kinds


def test_kinds_that_are_searched_together_are_ranked_by_the_same_scale(memory, search_engine):
    texts = [f"the {topic} {told}" for topic in TOPICS for told in TOLD]
    conversation: str | None = None
    for number, text in enumerate(texts):
        memory.clock.tick(MINUTE)
        memory.add_fact("main", f"fact_{number}", fact_text=text)
        memory.add_observation("main", f"obs_{number}", summary=text)
        with memory.store.adding("main") as work:
            message = MessageRequest(NewMessage("user", text), conversation)
            logged = add_message(memory.repo, work, message, memory.origin)
        assert logged
        conversation = logged.conversation_id
    kinds = ("facts", "observations", "messages")
    hits = Asking(memory, search_engine)(
        "why was the boat late?", kinds=kinds, limit=60, wait=True
    ).hits
    assert len(hits) == 60
    by_text: dict[str, list[float]] = {}
    for hit in hits:
        by_text.setdefault(str(hit.row[hit.kind.text or ""]), []).append(hit.score)
    assert sum(len(scores) == len(kinds) for scores in by_text.values()) >= 19
    for scores in by_text.values():
        assert scores == pytest.approx(scores[:1] * len(scores))


def test_one_kind_of_few_memories_is_asked_the_same_as_one_of_many(memory, search_engine):
    write_sessions(memory)
    for number, name in enumerate(("Ada", "Bela", "Cleo") * 4):
        note(memory, f"name{number}", f"{name} has key {number}", "keys")
    for number in range(30):
        memory.add_observation("main", f"obs_{number}", summary=f"a key turned, number {number}")
    memory.add_observation("main", "obs_key", summary="Ada has key 9")
    memory.add_fact("main", "fact_key", fact_text="Ada has key 9")
    listening = Listening()
    ask = Asking(memory, replace(search_engine, embedder=listening))
    kinds = ("observations", "facts")
    ask("all of it", kinds=kinds, wait=True)
    found = ask("which of our key has ada?", kinds=kinds, limit=90).hits
    cosines = {str(hit.row["id"]): hit.cosine for hit in found}
    assert cosines["obs_key"] == cosines["fact_key"]
    assert listening.heard.count("which of our key has ?") == 1
