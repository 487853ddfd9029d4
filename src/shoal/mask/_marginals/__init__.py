"""Differentially private synthesis from marginals: exact draws, their account, the model and its records."""
