"""The knowledge of a monitor: the environment, the game and the scene, taken from messages."""

from dataclasses import dataclass, field
from typing import Any

from conformance.simspark.scene import Matrix, Scene, number


@dataclass
class View:
    """The latest values, as written on the wire. Invalid values are ignored."""

    environment: dict[str, str] = field(default_factory=dict)
    play_modes: list[str] = field(default_factory=list)
    state: dict[str, str] = field(default_factory=dict)
    scene: Scene | None = None
    fulls: int = 0
    """The number of full scene graphs received."""

    def take(self, value: Any) -> None:
        """Apply one message in its decoded form."""
        for item in value[0] if value and isinstance(value[0], list) else ():
            self._take_item(item)
        if len(value) < 3 or not isinstance(value[1], list):
            return
        if value[1][:1] == ["RSG"]:
            self.scene = Scene(value[2])
            self.fulls += 1
        elif value[1][:1] == ["RDS"] and self.scene is not None:
            self.scene.update(value[2])

    def _take_item(self, item: Any) -> None:
        match item:
            case ["play_modes", *names]:
                self.play_modes = [name for name in names if isinstance(name, str)]
            case [("time" | "half" | "score_left" | "score_right" | "play_mode") as key, str(text)]:
                self.state[key] = text
            case [str(key), str(text)]:
                self.environment[key] = text

    def value(self, key: str) -> float | None:
        """Return a number of the game state, or None if unknown."""
        return number(self.state.get(key))

    @property
    def clock(self) -> float:
        """The game time in seconds, or 0 if unknown."""
        return self.value("time") or 0.0

    def parameter(self, name: str, otherwise: float) -> float:
        """Return a number of the environment, or `otherwise` if unknown."""
        found = number(self.environment.get(name))
        return otherwise if found is None else found

    @property
    def play_mode(self) -> str | None:
        """The name of the play mode, or None if unknown."""
        index = self.value("play_mode")
        if index is None or index != int(index) or not 0 <= index < len(self.play_modes):
            return None
        return self.play_modes[int(index)]

    @property
    def poses(self) -> list[Matrix]:
        return self.scene.poses() if self.scene else []

    @property
    def nodes(self) -> int:
        """The number of nodes in the scene."""
        return len(self.scene.nodes) if self.scene else 0

    def ball(self) -> tuple[float, float, float] | None:
        """Return the position of the ball in metres, or None if unknown.

        The ball is the first node whose mesh has "ball" in its name.
        """
        if self.scene is None:
            return None
        for node, pose in zip(self.scene.nodes, self.poses, strict=True):
            for name, *values in node.leaves:
                if name == "load" and "ball" in str(values[:1]).lower():
                    return pose[12], pose[13], pose[14]
        return None
