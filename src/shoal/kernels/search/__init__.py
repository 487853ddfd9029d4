"""Exact nearest others."""
