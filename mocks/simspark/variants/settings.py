"""What variants of the server that differ in its settings are made of."""

from mocks.simspark.server import Server
from mocks.simspark.settings import Settings


class OtherSettings(Server):
    """A server with other settings."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(self.settings(settings))

    def settings(self, usual: Settings) -> Settings:
        """The settings that it has instead of the usual ones."""
        raise NotImplementedError
