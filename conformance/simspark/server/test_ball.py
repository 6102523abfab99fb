"""Trainer commands for the ball."""

import contextlib
from math import hypot

import pytest

from conformance.cases import check, compared, requirement
from conformance.iut import Iut
from conformance.simspark.codec import encode
from conformance.simspark.server.tester.agents import name_of, play_agent
from conformance.simspark.server.tester.match import Match, match
from conformance.simspark.server.tester.monitors import (
    CLOSE,
    Place,
    Watch,
    places_of_balls,
    watch_server,
)
from conformance.simspark.tester import expressions
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, NotExercised, Violation

HIGH = 1.0  # metres; a ball above this height is still in the air
STILL = 0.05  # metres; a ball at rest moves less than this
ALONG = 0.98  # cosine of the greatest angle between the movement and the commanded direction
ROLLED = 0.15  # metres; a ball that has moved this far has rolled


async def _play_with_ball(watch: Watch) -> None:
    await watch.play()
    await watch.settle()


@requirement("ball.pos")
@pytest.mark.parametrize(("along", "across"), [(0.5, 0.4), (-0.7, -0.55), (0.23, -0.31)])
async def test_ball_is_put(iut: Iut, along: float, across: float) -> None:
    """The ball is at the commanded position in field coordinates, from any earlier position."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        for place in (watch.find_vacant(along, across), watch.find_vacant(-across, along / 2)):
            await watch.put_ball(place)


@requirement("ball.pos")
async def test_ball_is_put_up(iut: Iut) -> None:
    """A ball that is put into the air is above the ground first."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(0.5, 0.4)
        await watch.command(f"(ball (pos {place.x} {place.y} 2.5))")
        await watch.wait_until(
            lambda view: any(
                abs(pose[12] - place.x) < 0.3 and abs(pose[13] - place.y) < 0.3 and pose[14] > 0.5
                for pose in view.poses
            ),
            f"show the ball in the air above {place}",
            now=places_of_balls,
        )


class _Track:
    """Follows the nodes that were near a place when the track began."""

    def __init__(self, view: View, place: Place) -> None:
        self.nodes = place.nodes_within(view, 0.3)
        self.place = place
        self.x, self.y = place.x, place.y

    def follow(self, view: View) -> tuple[float, float]:
        """Return the movement (x, y) in metres of the node that has moved farthest."""
        poses = view.poses
        moves = [
            (poses[n][12] - self.place.x, poses[n][13] - self.place.y)
            for n in self.nodes
            if n < len(poses)
        ]
        return max(moves, key=lambda move: move[0] ** 2 + move[1] ** 2, default=(0.0, 0.0))


async def _check_rolls(
    watch: Watch, place: Place, dx: float, dy: float, command: str, requirement: str | None = None
) -> None:
    """Send a command, and raise Violation unless the object moves along (dx, dy).

    The object is at `place`. ``requirement`` is the requirement to blame; the default is that of
    the test.
    """
    track = _Track(watch.view, place)
    moved = (0.0, 0.0)

    def has(view: View) -> bool:
        nonlocal moved
        moved = track.follow(view)
        return moved[0] ** 2 + moved[1] ** 2 > ROLLED**2

    await watch.command(command)
    await watch.wait_until(
        has,
        f"show the ball rolling after {command}",
        requirement=requirement,
        now=lambda _: f"it moved by {moved[0]:.2f} m, {moved[1]:.2f} m",
    )
    size = (moved[0] ** 2 + moved[1] ** 2) ** 0.5 * (dx**2 + dy**2) ** 0.5
    cosine = (moved[0] * dx + moved[1] * dy) / size
    if cosine <= ALONG:
        along, came = f"({dx:g}, {dy:g})", f"({moved[0]:.2f}, {moved[1]:.2f})"
        raise Violation(f"the ball to roll along {along}", f"it rolled by {came}", requirement)


@requirement("ball.vel")
@pytest.mark.parametrize(("vx", "vy"), [(3, 2.5), (-0.9, -2.5)])
async def test_ball_is_pushed(iut: Iut, vx: float, vy: float) -> None:
    """A ball at rest rolls in the direction of the commanded velocity."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(-0.2, 0.15)
        await watch.put_ball(place)
        await watch.settle()
        await _check_rolls(watch, place, vx, vy, f"(ball (vel {vx} {vy} 0))")


@requirement("ball.vel")
async def test_ball_is_pushed_back(iut: Iut) -> None:
    """A rolling ball takes the commanded velocity, regardless of its velocity before."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(-0.2, 0.15)
        await watch.put_ball(place)
        await watch.settle()
        track, far = _Track(watch.view, place), 0.0
        await _check_rolls(watch, place, 3, 0, "(ball (vel 3 0 0))")

        def is_back(view: View) -> bool:
            nonlocal far
            now = track.follow(view)[0]
            far = max(far, now)
            return now < far - ROLLED

        await watch.command("(ball (vel -1.5 0 0))")
        await watch.wait_until(
            is_back,
            "show the ball rolling back after (ball (vel -1.5 0 0))",
            now=lambda _: f"it rolled {far:.2f} m and did not come back",
        )


@requirement("ball.vel")
async def test_ball_is_pushed_up(iut: Iut) -> None:
    """A ball with an upward velocity rises."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.find_vacant(-0.2, 0.15)
        await watch.put_ball(place)
        await watch.settle()
        highest = max(
            (watch.view.poses[n][14] for n in place.nodes_within(watch.view, CLOSE)), default=0
        )
        push = "(ball (vel 0.3 0 4))"
        await watch.command(push)
        await watch.wait_until(
            lambda view: any(
                view.poses[n][14] > highest + ROLLED for n in place.nodes_within(view, CLOSE)
            ),
            f"show the ball above the ground after {push}",
            now=places_of_balls,
        )


@requirement("ball.both")
@pytest.mark.parametrize("order", ["pos first", "vel first"])
async def test_ball_is_put_and_pushed(iut: Iut, order: str) -> None:
    """With pos and vel in any order, the ball starts from there with that velocity."""

    async def play(together: bool) -> None:
        async with watch_server(iut) as watch:
            await _play_with_ball(watch)
            await watch.put_ball(watch.place(-0.6, 0.6))
            place = watch.place(0.35, -0.2)
            parts = [f"(pos {place.x} {place.y} {watch.radius})", "(vel -1 2 0)"]
            ordered = parts if order == "pos first" else parts[::-1]
            commands = (
                [f"(ball {' '.join(ordered)})"] if together else [f"(ball {p})" for p in parts]
            )
            for command in commands:
                await watch.command(command)
            await _check_starts(watch, place, " and ".join(commands))

    await compared(iut, play, True, False, "ball.vel")


async def _check_starts(watch: Watch, place: Place, command: str) -> None:
    """Raise Violation unless the ball starts from a place and moves along (-1, 2)."""
    last_clock, within = watch.view.clock, 0.0

    def is_there(view: View) -> bool:
        """Return True if the ball is near the place.

        The tolerance grows with the time between two states.
        """
        nonlocal last_clock, within
        before, last_clock = last_clock, view.clock
        within = 0.6 + hypot(-1, 2) * max(0.0, last_clock - before)
        return place.is_occupied(view, within)

    await watch.wait_until(
        is_there, f"show the ball near {place} after {command}", now=places_of_balls
    )
    near = place.nodes_within(watch.view, within)

    def is_away(view: View) -> bool:
        return any(
            number < len(view.poses)
            and view.poses[number][13] > place.y + ROLLED
            and view.poses[number][12] < place.x
            for number in near
        )

    await watch.wait_until(
        is_away, f"show the ball rolling away after {command}", now=places_of_balls
    )


@requirement("ball.neither")
async def test_ball_is_left_alone(iut: Iut) -> None:
    """The command ball without pos and vel does not change the ball."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(0.3, 0.45)
        await watch.put_ball(place)
        await watch.settle()
        await watch.command("(ball)")
        stayed = await watch.is_still_false(
            lambda view: not place.is_occupied(view), 2 * watch.session.seconds("quiet")
        )
        check(stayed, f"the ball to stay at {place}", places_of_balls(watch.view))
        await watch.check_obeyed("(ball)")


async def _is_still_rolling(watch: Watch, command: str) -> bool:
    """Return True if a rolling ball still rolls after `command` and one further command."""
    place = watch.place(-0.2, 0.15)
    await watch.put_ball(place)
    await watch.settle()
    track = _Track(watch.view, place)
    await _check_rolls(watch, place, 3, 1, "(ball (vel 3 1 0))", "ball.vel")
    if command:
        await watch.command(command)
    await watch.check_obeyed(command or "a push")
    x, y = track.follow(watch.view)

    def moves(view: View) -> bool:
        moved = track.follow(view)
        return (moved[0] - x) ** 2 + (moved[1] - y) ** 2 >= STILL**2

    return not await watch.is_still_false(moves, 2 * watch.session.seconds("quiet"))


@requirement("ball.neither")
async def test_rolling_ball_is_left_alone(iut: Iut) -> None:
    """The command ball without pos and vel does not stop a rolling ball."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        if await _is_still_rolling(watch, "(ball)"):
            return
        if not await _is_still_rolling(watch, ""):
            raise Inconclusive("a pushed ball stops by itself too soon for a decision")
        raise Violation("the ball to keep rolling after (ball)", "it stopped")


@requirement("drop-ball.ball-stays")
async def test_dropped_where_it_is(iut: Iut) -> None:
    """A ball on the field keeps its position after dropBall."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(0.25, 0.45)
        await watch.put_ball(place)
        await watch.settle()
        await watch.command("(dropBall)")
        stayed = await watch.is_still_false(
            lambda view: not place.is_occupied(view), 2 * watch.session.seconds("quiet")
        )
        check(stayed, f"the ball to stay at {place}", places_of_balls(watch.view))


@requirement("ball.spin")
async def test_velocity_takes_the_spin(iut: Iut) -> None:
    """A rolling ball that is put into the air with velocity zero does not spin."""
    async with watch_server(iut) as watch:
        await _play_with_ball(watch)
        place = watch.place(-0.2, 0.15)
        await watch.put_ball(place)
        await watch.settle()
        nodes = place.nodes_within(watch.view, CLOSE)
        turned = _Turning(watch.view, nodes)
        await watch.command("(ball (vel 2 0.5 0))")
        if await watch.is_still_false(turned.has, watch.session.seconds("response")):
            raise Inconclusive("the states do not show a rolling ball turning")
        above = watch.place(-0.3, -0.2)
        await watch.command(f"(ball (pos {above.x} {above.y} 4)(vel 0 0 0))")
        await watch.wait_until(
            lambda view: any(
                view.poses[n][14] > HIGH and abs(view.poses[n][12] - above.x) < CLOSE
                for n in nodes
                if n < len(view.poses)
            ),
            "show the ball in the air",
            requirement="ball.pos",
            now=places_of_balls,
        )
        still, left = _Turning(watch.view, nodes), watch.session.countdown("response")
        while left() > 0 and any(watch.view.poses[n][14] > HIGH for n in nodes):
            check(
                not still.has(watch.view),
                "the ball in the air without spin after (vel 0 0 0)",
                "it turns",
            )
            await watch.state()


class _Turning:
    """Detects that a node has turned since the beginning."""

    def __init__(self, view: View, nodes: set[int]) -> None:
        self.axes = {number: view.poses[number][:11] for number in nodes}

    def has(self, view: View) -> bool:
        poses = view.poses
        return any(
            max(abs(a - b) for a, b in zip(poses[number][:11], axes, strict=True)) > 0.2
            for number, axes in self.axes.items()
            if number < len(poses)
        )


@requirement("drop-ball.back-on-the-field")
async def test_dropped_off_the_field(iut: Iut) -> None:
    """After dropBall, a ball beyond either touch line is back on the field.

    After the end of the game, dropBall can be without any effect, on both sides. To detect this,
    the test also puts a player near the ball, whom dropBall must move away.
    """
    async with match(iut) as game:
        await _drop_outside(game, 1, effective=False)
        await _drop_outside(game, -1, effective=True)


async def _drop_outside(game: Match, side: int, effective: bool) -> None:
    """Drop the ball beyond the touch line of one side.

    `effective` says that dropBall is known to have an effect. Otherwise a missing effect is
    inconclusive.
    """
    watch = game.watch
    width = watch.view.parameter("FieldWidth", 12.0) / 2
    radius = watch.view.parameter("FreeKickDistance", 1.0)
    outside = Place(watch.place(0.2, 0).x, side * (width + 1.5))
    near = Place(round(outside.x - min(0.8, 0.6 * radius), 2), outside.y)
    await watch.play("GameOver")
    try:
        await watch.put_ball(outside)
        await game.put("Left", near)
    except Violation as none:
        raise Inconclusive(f"the server does not put objects off the field: {none}") from none
    await watch.settle()
    await watch.command("(dropBall)")
    try:
        await watch.wait_until(
            lambda view: not outside.is_occupied(view, CLOSE) or not near.is_occupied(view),
            "show an effect of dropBall",
        )
    except Violation as none:
        if not effective:
            what = "dropBall has no effect after the end of the game"
            raise Inconclusive(what) from none
    to = f"show the ball back on the field after dropBall at {outside}"
    await watch.wait_until(
        lambda view: not outside.is_occupied(view, CLOSE), to, now=places_of_balls
    )
    ball = watch.view.ball()
    if ball is not None:
        bound = width + 2 * watch.radius + 0.05
        check(
            abs(ball[1]) <= bound,
            f"the ball within {width:g} m of the centre line",
            places_of_balls(watch.view),
        )


@requirement("drop-ball.players-away")
async def test_players_move_away(iut: Iut) -> None:
    """dropBall moves players of both teams away from the ball.

    A player exactly at the position of the ball is moved too.
    """
    async with match(iut) as game:
        watch = game.watch
        place = watch.place(0.2, 0.45)
        radius = watch.view.parameter("FreeKickDistance", 1.0)
        await watch.put_ball(place)
        await watch.settle()
        near = place.nodes_within(watch.view, radius)
        step = round(min(0.45, radius / 2), 2)
        await game.put("Left", Place(place.x - step, place.y))
        await game.put("Right", Place(place.x, place.y + step))
        await watch.settle()

        drop = encode(expressions("(dropBall)"))
        # A player exactly at the position of the ball has no direction to move away in.
        pos = f"(pos {place.x} {place.y} {watch.radius})"
        ball = f"(ball {pos}(vel 0 0 0))"
        # A player far from the ball can come nearer if all are moved in the same direction.
        beside = [f"(pos {place.x + share * radius:.2f} {place.y} 0.4)" for share in (-0.8, 0.8)]
        for texts in (
            (),
            (ball, f"(agent {game.left}{pos})"),
            (ball, f"(agent {game.left}{beside[0]})", f"(agent {game.right}{beside[1]})"),
        ):
            commands = b"".join(encode(expressions(text)) for text in texts)
            await watch.session.send_bytes(commands + drop)
            expected = f"show only the ball within {radius:g} m of its position"
            await _wait_until_away(watch, place, radius, near, expected)
            await watch.settle()


@requirement("drop-ball.players-away")
async def test_many_players_move_away(iut: Iut) -> None:
    """dropBall moves all players away from the ball, also two of each team."""
    async with match(iut) as game, contextlib.AsyncExitStack() as others:
        watch, names = game.watch, [game.left, game.right]
        for team in game.names:
            playing = play_agent(iut, watch.session.instance, game.called[team])
            if name := name_of(await others.enter_async_context(playing)):
                names.append(name)
        if len(names) == len(game.names):
            raise NotExercised("the game state (GS) does not contain the names of further agents")
        place = watch.find_vacant(0.2, 0.45)
        radius = watch.view.parameter("FreeKickDistance", 1.0)
        await watch.put_ball(place)
        await watch.settle()
        near = place.nodes_within(watch.view, radius)
        step = round(min(0.45, radius / 2), 2)
        sides = ((-step, 0.0), (0.0, step), (0.0, -step), (step, 0.0))
        for name, (along, across) in zip(names, sides, strict=False):
            beside = Place(place.x + along, place.y + across)
            await watch.command(f"(agent {name}(pos {beside.x} {beside.y} 0.4))")
            await watch.wait_until(
                beside.is_occupied, f"show {name} at {beside}", requirement="move-agent.pos"
            )
        await watch.settle()
        await watch.command("(dropBall)")
        expected = f"show none of {len(names)} players within {radius:g} m of the ball"
        await _wait_until_away(watch, place, radius, near, expected)


async def _wait_until_away(
    watch: Watch, place: Place, radius: float, near: set[int], expected: str
) -> None:
    """Wait until only the nodes ``near`` are within about two thirds of this radius."""

    def others(view: View) -> int:
        return len(place.nodes_within(view, 0.65 * radius) - near)

    await watch.wait_until(
        lambda view: not others(view),
        expected,
        now=lambda view: f"{others(view)} other nodes are there",
    )
