"""The sensor's side of `push`. Needs nothing but the standard library."""
