"""Faults that drills and local runs make: cut connections, processes that are stopped for a while."""
