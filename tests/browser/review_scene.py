"""A branch to review: two conflicts, something new, a possible duplicate, something held."""

from itertools import count
from typing import Any, NamedTuple, Self

from tests.wires.http_server import HttpServer

_numbers = count(1)


class Scene(NamedTuple):
    """Its memories by name, and how `main` was before anybody decided."""

    server: HttpServer
    secret: str
    branch: str
    timeout: str
    region: str
    held: str
    bread: str
    car: str
    before: dict[str, str]

    @classmethod
    def made(cls, server: HttpServer, secret: str) -> Self:
        """Write it over REST."""

        def say(operation: str, /, **arguments: Any) -> dict[str, Any]:
            return server.ok(operation, secret, **arguments)

        def fact(text: str, branch: str = "main") -> str:
            # Scenes follow one another within a minute, with the same words.
            request = f"{name} {text}"
            given = {"fact_text": text, "branch": branch, "request_id": request}
            made: str = say("memory_write_fact", **given)["id"]
            return made

        name = f"task/scene-{next(_numbers)}"

        def change(row: str, text: str, branch: str) -> None:
            say("memory_update_fact", fact_id=row, fact_text=text, branch=branch)

        branch = name
        timeout, region, held = map(fact, ("It waits 30 s.", "It runs in Oslo.", "Ada is on call."))
        say("memory_branch_create", branch_name=branch)
        for where, who in (("main", "Bo"), (branch, "Cy")):
            change(held, f"{who} is on call.", where)
        say("memory_branch_merge", source_branch=branch, strategy="auto")  # holds it
        for where, seconds, town in (("main", 60, "Rome"), (branch, 45, "Bern")):
            change(timeout, f"It waits {seconds} s.", where)
            change(region, f"It runs in {town}.", where)
        bread = fact("Fresh bread, every loaf of it.", branch)
        fact("The car is crimson.")
        car = fact("The automobile is red.", branch)
        for where in ("main", branch):
            say("memory_search", query="car", branch=where, wait=True)
        scene = cls(server, secret, branch, timeout, region, held, bread, car, {})
        scene.before.update(scene.main())
        return scene

    def main(self) -> dict[str, str]:
        """The facts of `main`, each with its text."""
        found = self.server.ok("memory_list", self.secret, type="fact", branch="main", limit=200)
        assert found["total"] <= 200
        return {row["id"]: row["fact_text"] for row in found["rows"]}

    def held_back(self) -> set[str]:
        """Memories with an open held item on `main`, of this scene."""
        listed = self.server.ok("memory_held", self.secret, branch="main")["items"]
        return {item["row_id"] for item in listed} & {*self[3:8]}

    def review(self) -> dict[str, Any]:
        """The newest review of the branch."""
        found = self.server.ok("review_list", self.secret, status="all")["result"]
        return next(one for one in found if one["source_branch"] == self.branch)

    def check_merged(self, region: str) -> None:
        """`main` has what every review here decides: see the tests."""
        decided = {
            self.timeout: "It waits 45 s.",
            self.region: region,
            self.held: "Cy is on call.",
            self.bread: "Fresh bread, every loaf of it.",
        }
        assert self.main() == {**self.before, **decided}
        assert self.held_back() == {self.car}
        review = self.review()
        assert review["status"] == "merged"
        merges = self.server.ok("memory_graph", self.secret)["merges"]
        merged = [one for one in merges if one["source"] == self.branch]
        assert len(merged) == 2, "the one that held, and this"
        assert review["merge_id"] in {one["merge_id"] for one in merged}

    def check_reverted(self) -> None:
        """`main` says what it said; what the merge held and closed is history, and stays."""
        assert self.main() == self.before
        assert self.held_back() == {self.car}
