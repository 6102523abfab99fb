"""Campaigns: many programs, seeds and machines; the engine is Dask."""
