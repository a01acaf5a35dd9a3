"""What Prometheus reads: metric families, and the pure functions that give their values.

The values come from status pages and statuses, so a metric never contradicts the page that it was made from.
"""
