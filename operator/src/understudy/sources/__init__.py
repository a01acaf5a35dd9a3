"""Sources that are read inside a subjob."""
