"""Side-by-side measurements with plain PySpark, on the same machine, in the same run, of the same query.

| file | what it holds |
|---|---|
| `jobs` | the queries as StreamJobs |
| `plain_pyspark` | the same queries as an ordinary PySpark script |
| `plain` | runs that script, kills it, restarts it |
| `watching` | runs a StreamJob as `understudy run` does, with faults of the benchmark's own |
| `recovery_times`, `silence`, `move_costs`, `suspicion`, `sink_memory` | what failures and moves cost |
| `predicting`, `functions` | what kills cost against what `understudy plan` predicts |
| `overhead`, `throughput`, `shipping`, `core` | one measurement each, while nothing fails |
| `page` | the results in docs/benchmarks.md |
"""
