"""Paths of the update files that an implementation declares."""

from conformance.configuration import Configuration
from conformance.openroberta.message_names import UPDATE


def update_paths(configuration: Configuration) -> list[str]:
    """Return the declared paths below /rest/update/, without that prefix."""
    declared = [text.strip() for text in configuration.value("update_paths").split(",")]
    paths = [text.rpartition(UPDATE)[2].strip("/") for text in declared]
    return [path for path in paths if path]
