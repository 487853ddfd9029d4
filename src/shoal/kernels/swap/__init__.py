"""Exchanges of values between records."""
