"""A release as one self-contained offline page."""
