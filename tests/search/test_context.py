from mem_search.search.context import Place, add_context


def turn(position: int, session: str = "s1") -> Place:
    return Place("user_prompt", ("project", session), position)


def test_a_turn_gains_from_its_neighbours_by_distance() -> None:
    places = {1: turn(1), 2: turn(2), 3: turn(3)}
    added = add_context({1: 0.0, 2: 2.0, 3: 0.0}, places)["neighbours"]
    assert added[3] == 0.4 * 2.0
    assert added[1] == 0.3 * 2.0


def test_negative_neighbours_do_no_harm() -> None:
    added = add_context({1: 1.0, 2: -3.0}, {1: turn(1), 2: turn(2)})["neighbours"]
    assert added.get(1, 0.0) == 0.0


def test_other_sessions_are_not_neighbours() -> None:
    added = add_context({1: 1.0, 2: 2.0}, {1: turn(1), 2: turn(2, "s2")})["neighbours"]
    assert not any(added.values())


def test_a_session_with_several_matches_is_raised_by_its_best_three() -> None:
    places = {n: turn(n * 10) for n in range(1, 5)}
    added = add_context({1: 3.0, 2: 2.0, 3: 1.0, 4: 1.0}, places)["session"]
    assert added[4] == 0.5 * (3.0 + 2.0 + 1.0) / 3


def test_records_without_a_session_have_no_context() -> None:
    place = Place("user_prompt", ("project", ""), 0)
    added = add_context({1: 3.0, 2: 2.0}, {1: place, 2: place})
    assert added == {"neighbours": {}, "session": {}}


def test_in_a_mixed_page_neighbours_are_left_out() -> None:
    places = {1: turn(1), 2: turn(2), 3: Place("observation", ("project", "s1"), 1)}
    added = add_context({1: 1.0, 2: 2.0, 3: 1.0}, places)
    assert added["neighbours"] == {}
    assert added["session"][1] > 0
