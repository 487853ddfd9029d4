"""Regressions from which new values are drawn, fitted once and drawn from as often as is wanted."""
