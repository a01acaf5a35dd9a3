"""What the operator decides: observe → decide → act, the middle part.

`decide(observed)` is a function: no I/O, no clock. The order of the intents is safe: an operator that is
restarted between any two of them observes again, decides again, and gets to the same result.
"""
