"""How long a run waits for what has not come before."""

from conformance.running.patience import LATE, OFTEN, Patience

PONG = ("Pong",)


def test_a_deadline_is_whole_until_it_was_missed_for_the_same_requirement() -> None:
    patience = Patience()
    patience.miss("pong.each", PONG)
    assert patience.seconds_for(PONG, 2, ["pong.each"]) < 2
    assert patience.seconds_for(PONG, 2, ["pong.number"]) == 2
    assert patience.seconds_for(PONG, 2, ["pong.number", "pong.each"]) < 2
    assert patience.seconds_for(("Ping",), 2, ["pong.each"]) == 2
    assert patience.seconds_for(PONG, 2, ["pong.each"], certain=True) == 2


def test_a_deadline_is_never_less_than_the_same_has_taken() -> None:
    patience = Patience()
    patience.miss("pong.each", PONG)
    least = patience.seconds_for(PONG, 2, ["pong.each"])
    patience.reacted(("Ping",), 1.9)
    patience.reacted(PONG, -0.1)
    assert patience.seconds_for(PONG, 2, ["pong.each"]) == least
    patience.reacted(PONG, 1.2)
    assert patience.seconds_for(PONG, 2, ["pong.each"]) == 1.2
    patience.reacted(PONG, 5)
    assert patience.seconds_for(PONG, 2, ["pong.each"]) == 2


def test_a_message_surely_comes_in_many_times_what_others_took() -> None:
    patience = Patience()
    assert patience.pace(PONG, 2) == 2
    patience.reacted(PONG, 0.01)
    assert 0.01 < patience.pace(PONG, 2) < 2
    patience.reacted(PONG, 1)
    assert patience.pace(PONG, 2) == 2


def test_what_lacks_for_what_is_presumed_is_not_waited_for_in_full_unless_any_has_come() -> None:
    patience = Patience(lambda name: ["pong.each"] if name == "pong.number" else [])
    patience.miss("pong.each", ("Pong", "Bye"))
    assert patience.seconds_for(PONG, 2, ["pong.number"]) < 2
    assert patience.hopeless(["pong.each"], PONG)
    assert not patience.hopeless(["pong.each"], ())
    patience.came("Bye")
    assert not patience.hopeless(["pong.each"], PONG)
    assert patience.seconds_for(PONG, 2, ["pong.number"]) == 2


def test_what_rests_on_the_basis_is_awaited_briefly_but_not_by_what_decides_that_itself() -> None:
    presumed = {"pong.number": ["pong.each"]}
    patience = Patience(lambda name: presumed.get(name, []), basis="pong.each")
    assert patience.seconds_for(PONG, 2, ["pong.number"]) < 2
    assert patience.seconds_for(PONG, 2, ["pong.number", "pong.each"]) == 2


def test_what_decides_the_basis_is_not_cut_short_by_what_anything_else_has_missed() -> None:
    patience = Patience(basis="frame.fixed-lengths")
    patience.miss("pong.each", PONG)
    assert patience.seconds_for(PONG, 2, ["frame.fixed-lengths", "pong.each"]) == 2
    patience.miss("frame.fixed-lengths", PONG)
    assert patience.seconds_for(PONG, 2, ["frame.fixed-lengths", "pong.each"]) < 2


def test_what_is_late_is_told_from_what_never_comes_until_much_never_came() -> None:
    patience = Patience()
    for number in range(OFTEN):
        assert patience.late == LATE
        patience.miss(f"pong.{number}", PONG)
    assert 0 < patience.late < LATE


def test_the_time_to_start_is_learnt_once_something_is_missing() -> None:
    patience = Patience()
    patience.began(0.5)
    assert patience.startup(PONG, 10) == 10
    patience.miss("pong.each", PONG)
    assert 0.5 < patience.startup(PONG, 10) < 10
    assert patience.startup(PONG, 0.1) == 0.1


def test_the_time_to_start_is_learnt_of_the_first_instances() -> None:
    patience = Patience()
    for seconds in (0.1, 0.9, 0.2):
        assert patience.startup(PONG, 10) == 10
        patience.began(seconds)
    assert 3 * 0.9 < patience.startup(PONG, 10) < 10
    patience.began(5)
    assert patience.startup(PONG, 10) < 10


def test_one_that_never_spoke_keeps_its_time_to_start() -> None:
    patience = Patience()
    patience.miss("pong.each", PONG)
    assert patience.startup(PONG, 10) == 10


def test_what_comes_late_again_and_again_is_not_waited_for() -> None:
    """Until it comes in time; what a start takes is neither late nor in time."""
    patience = Patience()
    for _ in range(3):
        assert not patience.lags(PONG)
        patience.answered(PONG, took=3, declared=2, allowed=2)
        patience.answered(PONG, took=3, declared=2, allowed=12)
    assert patience.lags(PONG) == 3
    patience.answered(PONG, took=1, declared=2, allowed=2)
    assert not patience.lags(PONG)
