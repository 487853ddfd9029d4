"""Residuals with exact moments."""
