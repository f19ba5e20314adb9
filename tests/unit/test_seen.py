"""What a session was told: by its prime and by hints, and how much of it is remembered."""

from day1.model.prime.choosing import KnownFact
from day1.model.prime.wording import Situation, prime_text
from day1.ports.primes import ToldPrime
from day1.services.prime.seen import Seen, SessionsSeen

LONG = "The gateway is slow because " + "of this and " * 40
KNOWN = "The port (of http) is 80."


def prime(*texts: str, at: int = 1) -> ToldPrime:
    facts = [KnownFact(id=f"fact_{n}", text=text, at=0) for n, text in enumerate(texts)]
    return ToldPrime(at, prime_text(Situation("main", "c" * 40, facts=facts), 1_200))


def test_a_prime_told_what_it_has_whole_and_not_what_it_shortened() -> None:
    told = Seen(prime(KNOWN, LONG, "Two\nlines."))
    assert told.has(KNOWN)
    assert told.has("Two lines.")
    assert not told.has(LONG)
    assert not told.has("The port (of http")
    assert not Seen().has(KNOWN)


def test_what_a_hint_told_is_remembered_for_some_twenty_hints() -> None:
    told = Seen(prime(KNOWN))
    told.add([LONG])
    for number in range(57):
        told.add([f"Note {number}."])
    assert told.has(LONG)
    for number in range(57, 60):
        told.add([f"Note {number}."])
    assert not told.has(LONG)
    assert told.has("Note 0.")
    assert told.has(KNOWN), "a prime is at the top of the context"


def test_each_session_of_each_token_is_known_by_itself() -> None:
    sessions = SessionsSeen()
    sessions.of((None, "a"), None).add([KNOWN])
    assert sessions.of((None, "a"), None).has(KNOWN)
    assert not sessions.of((None, "b"), None).has(KNOWN)
    assert not sessions.of(("token", "a"), None).has(KNOWN)


def test_a_session_that_is_told_a_prime_again_has_lost_the_hints_before() -> None:
    sessions = SessionsSeen()
    sessions.of((None, "a"), prime("One.")).add([KNOWN])
    assert sessions.of((None, "a"), prime("One.")).has(KNOWN)
    again = sessions.of((None, "a"), prime("Two.", at=2))
    assert [again.has(text) for text in (KNOWN, "One.", "Two.")] == [False, False, True]


def test_the_session_that_asked_longest_ago_is_forgotten_first() -> None:
    sessions = SessionsSeen()
    sessions.of((None, "old"), None).add([KNOWN])
    sessions.of((None, "used"), None).add([KNOWN])
    for number in range(499):
        sessions.of((None, "used"), None)
        sessions.of((None, str(number)), None)
    assert sessions.of((None, "used"), None).has(KNOWN)
    assert not sessions.of((None, "old"), None).has(KNOWN)
