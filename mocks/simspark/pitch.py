"""Draws a pitch as text, seen from above: its outline, the ball and the players."""

from conformance.simspark.view import View

COLUMNS, ROWS = 61, 21


def draw(view: View) -> str:
    """Draw the pitch with the left goal on the left. `o` is the ball, L and R are players."""
    length, width = view.parameter("FieldLength", 30.0), view.parameter("FieldWidth", 20.0)
    rows = [[" "] * COLUMNS for _ in range(ROWS)]

    def put(x: float, y: float, sign: str) -> None:
        column = round((x / length + 0.5) * (COLUMNS - 1))
        row = round((0.5 - y / width) * (ROWS - 1))
        if 0 <= column < COLUMNS and 0 <= row < ROWS:
            rows[row][column] = sign

    for row in range(ROWS):
        put(0, (row / (ROWS - 1) - 0.5) * width, ":")
    for x, y, sign in _players(view):
        put(x, y, sign)
    ball = view.ball()
    if ball is not None:
        put(ball[0], ball[1], "o")
    edge = f"+{'-' * COLUMNS}+"
    return "\n".join([edge, *(f"|{''.join(row)}|" for row in rows), edge])


def _players(view: View) -> list[tuple[float, float, str]]:
    """Return the position of each player: a node with a body as its mesh."""
    found = []
    nodes = view.scene.nodes if view.scene else []
    for node, pose in zip(nodes, view.poses, strict=True):
        words = [str(word) for leaf in node.leaves for word in leaf]
        if any("body" in word for word in words):
            sign = "L" if "matLeft" in words else "R" if "matRight" in words else "?"
            found.append((pose[12], pose[13], sign))
    return found
