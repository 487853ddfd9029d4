"""Synthesis of persons with their rows in linked tables: what predicts what, models fitted to it, and the draws."""
