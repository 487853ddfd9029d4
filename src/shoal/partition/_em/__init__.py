"""Parts of both mixtures: starts, numbers of groups, assignment to groups."""
