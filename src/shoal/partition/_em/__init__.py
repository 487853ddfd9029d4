"""What the mixtures share: starts, numbers of groups, assignment to groups."""
