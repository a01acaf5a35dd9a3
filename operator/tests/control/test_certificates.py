"""Certificates of a job's pods: issued before the first pod, replaced while the job runs, never mixed with
none."""

from __future__ import annotations

from dataclasses import replace

from understudy.control.certificates import RENEWED
from understudy.control.intents import IssueCertificate

from .jobs import job
from .world import World


def due_ms(world: World) -> int:
    """How long a certificate is used."""
    life = world.safeguards.certificate_ms
    return life - life // RENEWED


def test_every_pod_gets_the_first_certificate() -> None:
    world = World(job()).run_for(30)
    assert world.is_true("Protected")
    assert {pod.certificate for pod in world.pods.values()} == {1}
    assert world.certificates == {1}


def test_a_certificate_that_ends_soon_is_replaced_standbys_first_and_the_old_one_goes() -> None:
    world = World(job()).run_for(30)
    world.now_ms += due_ms(world)
    world.tick()
    primary = world.primary("keep")
    served = [world.is_true("Ready")]
    for _ in range(90):
        world.run_for(1)
        served.append(len(world.live("keep")) >= 1)
    assert all(served), "one at a time"
    assert world.is_true("Protected")
    assert world.primary("keep") != primary, "the primary was replaced by a take-over"
    assert {pod.certificate for pod in world.pods.values()} == {2}
    assert world.certificates == {2}


def test_a_job_that_was_made_without_certificates_keeps_going_without() -> None:
    world = World(job())
    world.safeguards = replace(world.safeguards, tls=False)
    world.run_for(30)
    pods = set(world.pods)
    world.safeguards = replace(world.safeguards, tls=True)
    world.run_for(30)
    assert set(world.pods) == pods
    assert {pod.certificate for pod in world.pods.values()} == {0}
    assert not [i for i in world.history if isinstance(i, IssueCertificate)]


def test_an_operator_that_may_no_longer_issue_leaves_the_pods_alone() -> None:
    world = World(job()).run_for(30)
    pods = set(world.pods)
    world.safeguards = replace(world.safeguards, tls=False)
    world.now_ms += due_ms(world)
    world.tick()
    world.run_for(30)
    assert set(world.pods) == pods
