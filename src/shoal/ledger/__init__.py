"""Everything that was ever released, judged together: a ledger of releases, and the attack on several files."""
