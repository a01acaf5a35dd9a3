"""Pods, Leases, Services: a job on Kubernetes.

| part | what it does |
|---|---|
| `surroundings` | what a process in a pod needs: its subjob's Lease, addresses, the start time |
| `observe` | the cluster and the status pages → `control.observed.Observed` |
| `act`, `objects` | intents → API requests |
| `reconcile` | observe → decide → act for one job |
| `handlers` | kopf: which event wakes which loop |
| `api` | the API server over one connection per thread; no client library, so that a pod starts fast |
"""
