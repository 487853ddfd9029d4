"""The words that all rooms share: the registry of methods, parameters, facts, errors and progress."""
