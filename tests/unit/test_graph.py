from day1.services.rows.graph import walk


def graph(*edges):
    """Neighbours over edges such as `ab`, and the entities that were asked for."""
    rows = [{"id": edge, "source_entity": edge[0], "target_entity": edge[1]} for edge in edges]
    asked = []

    def neighbours(entities):
        asked.append(sorted(entities))
        return [row for row in rows if {row["source_entity"], row["target_entity"]} & {*entities}]

    return neighbours, asked


def ids(rows):
    return [row["id"] for row in rows]


def test_a_walk_goes_both_ways_nearest_first_and_no_further_than_asked():
    neighbours, _ = graph("cd", "bc", "ab", "xa", "de")
    assert ids(walk("a", neighbours, 1)) == ["ab", "xa"]
    assert ids(walk("a", neighbours, 3)) == ["ab", "xa", "bc", "cd"]
    assert walk("nobody", neighbours, 5) == []


def test_a_cycle_ends_where_it_closes():
    neighbours, asked = graph("ab", "bc", "ca", "aa")
    assert ids(walk("a", neighbours, 5)) == ["ab", "ca", "aa", "bc"]
    assert asked == [["a"], ["b", "c"]]


def test_a_graph_walk_ends_at_its_limit():
    neighbours, asked = graph(*(f"a{n}" for n in range(10)), "0z")
    assert len(walk("a", neighbours, 5, limit=4)) == 4
    assert len(asked) == 1
