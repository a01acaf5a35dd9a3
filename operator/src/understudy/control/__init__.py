"""What the operator decides: observe → decide → act, the middle part.

`decide(observed)` is a function: no I/O, no clock. It gives intents in an order that is safe to cut anywhere:
a restarted operator observes again, decides again, and gets to the same end.
"""
