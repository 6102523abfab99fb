"""Variants of the reaction to messages without a meaning."""

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN
from mocks.deltarobot.session import Session
from mocks.deviations import variant


class Strict(Session):
    """Closes the connection after some of the messages that it could skip."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and self.objects(int(frame.value["identifier"], 16) & 0xFFF):
            self.end(f"{frame.value['identifier']} is not for me")

    def objects(self, kind: int) -> bool:
        """Return True if a message of this type identifier closes the connection."""
        raise NotImplementedError


@variant("closes-upon-unknown", of="messages.unknown-skipped")
class ClosesUponUnknown(Strict):
    """Closes the connection after an unknown type, or after a message of its own role."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN:
            super().skip(frame)
        else:
            self.end(f"{frame.name} is not for me")

    def objects(self, kind: int) -> bool:
        return kind > 9


@variant("knows-what-it-knows", of="messages.unknown-skipped")
class KnowsWhatItKnows(Strict):
    """Closes the connection after any message with an unknown identifier, null or not."""

    def objects(self, kind: int) -> bool:
        return True


@variant("closes-upon-null", of="messages.null-skipped")
class ClosesUponNull(Strict):
    """Closes the connection after a message of the null type."""

    def objects(self, kind: int) -> bool:
        return kind == 0


@variant("closes-upon-other-sizes", of="messages.whole-identifier")
class ClosesUponOtherSizes(Strict):
    """Closes the connection after a message of a known type with another size."""

    def objects(self, kind: int) -> bool:
        return 0 < kind <= 9
