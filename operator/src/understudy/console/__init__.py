"""The web console: a page that draws a `ConsoleView`, and what makes one from what is observed.

Deciding what to show is `look.view_of`, a pure function. A local run and a finished run's folder are its two
sources so far (`live_run`, `finished_run`); a cluster is to be the third."""
