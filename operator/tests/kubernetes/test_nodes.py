"""Nodes as the operator reads them."""

from __future__ import annotations

from typing import Any

import pytest

from understudy.control.observed import Node
from understudy.kubernetes.parse import node_of


def node(*taints: dict[str, Any], **spec: Any) -> Node:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return node_of({"metadata": {"name": "n1"}, "spec": {**spec, "taints": list(taints)}, "status": ready})


@pytest.mark.parametrize(
    "key", ["karpenter.sh/disrupted", "karpenter.sh/disruption", "ToBeDeletedByClusterAutoscaler"]
)
def test_a_node_that_an_autoscaler_is_about_to_remove_counts_as_cordoned(key: str) -> None:
    found = node({"key": key, "effect": "NoSchedule"})
    assert (found.cordoned, found.schedulable) == (True, False)


def test_a_node_that_an_autoscaler_may_remove_some_day_does_not() -> None:
    found = node({"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"})
    assert (found.cordoned, found.schedulable) == (False, True)


def test_a_node_for_others_takes_no_pods_and_keeps_those_that_it_has() -> None:
    found = node({"key": "gpu", "effect": "NoSchedule"})
    assert (found.cordoned, found.schedulable) == (False, False)
