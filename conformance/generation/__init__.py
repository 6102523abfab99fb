"""Generates messages from JSON Schemas: valid values, and near misses with one violation."""

from conformance.generation.cuts import cuts
from conformance.generation.kinds import NearMiss
from conformance.generation.misses import near_misses
from conformance.generation.nodes import UnsupportedSchema
from conformance.generation.values import valid

__all__ = ["NearMiss", "UnsupportedSchema", "cuts", "near_misses", "valid"]
