"""The report of a local run: its incidents, moves and sinks, as JSON and as a page."""
