"""Partitions whose groups must satisfy requirements, and how far a group is from its table."""
