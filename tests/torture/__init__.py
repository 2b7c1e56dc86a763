"""Faults and signals, many: `make test` runs the short part, `make torture` all of it (see run.py)."""
