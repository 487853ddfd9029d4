"""Tables larger than memory: protected, proved on the files as written, published and audited, part by part."""

from shoal.large.audit import audit_large
from shoal.large.protect import protect_large

__all__ = ["audit_large", "protect_large"]
