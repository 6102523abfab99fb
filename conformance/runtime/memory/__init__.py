"""Code that suite and mocks share: the catalog, and the layout of a buffer."""
