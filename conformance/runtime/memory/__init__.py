"""What suite and mocks share about buffers: the catalog, and how a buffer is laid out in memory."""
