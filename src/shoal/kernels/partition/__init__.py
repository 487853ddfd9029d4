"""Partitions of records."""
