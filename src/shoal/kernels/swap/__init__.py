"""Exchange of values between records."""
