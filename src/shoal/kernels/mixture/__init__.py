"""Mixture models: EM, and the agglomeration that starts it."""
