"""Properties are checked without a deadline: a busy machine is no fault of the code."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
