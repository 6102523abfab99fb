"""A schema of externally tagged values, similar to those of the protocols."""

from conformance.definitions.schemas import Schema

PORT = Schema.of(
    {
        "oneOf": [
            {
                "type": "object",
                "required": [tag],
                "maxProperties": 1,
                "properties": {tag: {"type": "integer", "minimum": 0, "maximum": limit}},
            }
            for tag, limit in (("Smart", 20), ("Adi", 7))
        ]
        + [{"const": "None"}]
    }
)
