"""Faults that drills and local runs make: cut connections, processes that stop and go on."""
