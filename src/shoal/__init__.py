"""Safety in numbers for microdata."""
