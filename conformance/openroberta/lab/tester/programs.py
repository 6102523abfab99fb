"""Programs and files of a lab, as its user's operations return them, and how they differ."""

import base64

from conformance.verdicts import Inconclusive


def bytes_of(told: object, operation: str) -> bytes:
    """Bytes that an operation returns as Base64. Raises Inconclusive where it is not Base64."""
    try:
        return base64.b64decode(str(told), validate=True)
    except ValueError as error:
        raise Inconclusive(f"the operation '{operation}' answered no Base64: {error}") from error


def difference(wanted: bytes, came: bytes) -> tuple[str, str]:
    """What was expected and what came, from the first byte on in which they differ."""
    pairs = enumerate(zip(wanted, came, strict=False))
    place = next((at for at, (a, b) in pairs if a != b), min(len(wanted), len(came)))
    expected = f"{len(wanted)} bytes, {wanted[place : place + 8].hex(' ') or 'none'} from {place}"
    return expected, f"{len(came)} came, {came[place : place + 8].hex(' ') or 'none'} from there"
