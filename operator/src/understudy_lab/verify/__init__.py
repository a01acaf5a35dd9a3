"""What a job without failures would have written, computed in two other ways, and the sinks held against
it."""
