"""Meaning: dtypes, shapes, the op table and nodes. Imports NumPy and ml_dtypes only."""
