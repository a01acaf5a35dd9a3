"""A three-node Kubernetes on one machine, for the end-to-end suite.

A node is a network namespace and a mount namespace with its own containerd, kubelet and kube-proxy. The nodes
and the control plane share an outer network namespace that has no way out of the machine.

    layout      names, addresses, paths: decided once, read everywhere
    toolchain   what must be installed and built before a cluster can start
    network     namespaces, links, routes
    cgroups     which processes belong to whom, and how they end
    daemons     long-running processes, known by pid and start time
    pki         certificates and kubeconfigs
    api         the few API calls that starting and faults need
    control     etcd, API server, controllers, scheduler, DNS
    nodes       one node: boot, death, partition
    pods        faults inside one pod
    archives    OCI archives
    containerd  one containerd, from outside
    images      archives into every node
    seeds       images unpacked once for all nodes
    lifecycle   up and down

Only the standard library is used: the cluster starts before any virtual environment exists.
"""
