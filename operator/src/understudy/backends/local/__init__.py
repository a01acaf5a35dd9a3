"""The job on this machine: processes instead of pods, a folder instead of the API server.

| file | what it holds |
|---|---|
| `surroundings` | what a process asks of its surroundings, kept in a folder |
| `processes` | children that leave nothing behind, whatever happens to their parent |
| `faults` | what to hurt and when |
| `cast` | which processes a job needs, in which order they start |
| `direction` | observe → decide: what to start, hurt, replace next; pure |
| `supervisor` | act: carries the decisions out until the job is over |
| `record`, `incidents` | what happened, and what each fault led to |
| `history` | the checker: what a sink received against what it should have received |
| `checking`, `reference`, `plain` | a run's sinks against a batch execution in Spark and one in plain Python |
| `report`, `page` | what is told afterwards, as JSON and as a page |
| `bench` | side-by-side measurements with plain PySpark |
"""
