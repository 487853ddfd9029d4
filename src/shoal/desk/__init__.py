"""The things that any front asks for: to protect, audit, assess, measure exposure, explore."""
