"""Exact nearest neighbours."""
