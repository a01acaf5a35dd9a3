"""understudy keeps stream jobs alive: each subjob of a query network with its own high-availability mode."""

__version__ = "0.1.0"
