"""Sums over records that measure a risk."""
