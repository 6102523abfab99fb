"""Base class of the variants of the server with other settings."""

from mocks.simspark.server import Server
from mocks.simspark.settings import Settings


class OtherSettings(Server):
    """A server with other settings."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(self.settings(settings))

    def settings(self, usual: Settings) -> Settings:
        """Return the changed settings."""
        raise NotImplementedError
