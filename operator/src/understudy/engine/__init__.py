"""An element as a running Structured Streaming query, fed by batch plans from an inbox in the same process.

| module | what it knows |
|---|---|
| lane, sequence | the tuples of one input; several inputs as one merged sequence |
| cutting, plan, choices | where a plan ends, what it reads, how it is split; which process decides that |
| intake, inbox | all of that for one element; the same for many threads, with numbered plans and warm-ups |
| assemble, serve, source | a plan's rows; served by the process's Flight server; read by the data source |
| inputs, frame, windows, join, sql | what operators make of a plan's rows |
| operators, compile | which operator makes what; the element's operators as one Spark plan |
| cells, panes, folding | partials of windows: which rows make one, where they are kept, how they are folded |
| computation, query | a plan's output, in order; the streaming query that asks for plans and emits output |
| schemas, progress | the columns of every stream of a job, without running it; how far event time has come |
| session | a Spark session for small, frequent micro-batches |
"""
