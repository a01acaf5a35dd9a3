"""The job on this machine: processes instead of pods, a folder instead of the API server.

| module | what it holds |
|---|---|
| `surroundings`, `folder` | what a process asks of its surroundings, and what a run makes, as files |
| `processes`, `reaper` | children that leave nothing behind, whatever happens to their parent |
| `effective`, `sink_guarantees` | the job as it is really run, and what its subjobs promise |
| `run/` | `understudy run`: observe, decide (`decide`), act (`supervisor`), and the faults that it makes |
| `report/` | the report after the run: incidents, moves and sinks, as JSON and as a page |
"""
