"""Privacy models: each states a requirement and checks a finished table against it."""
