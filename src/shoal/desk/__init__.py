"""Services for any front: protect, audit, assess, measure exposure, explore."""
