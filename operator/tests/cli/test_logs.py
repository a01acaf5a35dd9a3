"""`kubectl understudy logs`: whose lines are shown, and that it stays with the job when its pods change."""

from __future__ import annotations

import threading

from .cluster import Cluster


def test_every_line_begins_with_the_name_of_its_pod(demo: Cluster) -> None:
    done = demo.run("logs", "demo", "--no-follow")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"[{pod}] {pod} {what}"
        for pod in ("demo-keep-0", "demo-keep-1", "demo-sink-out")
        for what in ("began", "goes on")
    ]


def shown(demo: Cluster, *words: str) -> set[str]:
    lines = demo.run("logs", "demo", *words, "--no-follow").stdout.splitlines()
    return {line.split("]")[0].removeprefix("[") for line in lines}


def test_a_part_and_a_role_choose_the_pods(demo: Cluster) -> None:
    assert shown(demo, "keep") == {"demo-keep-0", "demo-keep-1"}
    assert shown(demo, "out") == {"demo-sink-out"}
    assert shown(demo, "keep", "--role", "primary") == {"demo-keep-0"}
    assert shown(demo, "--role", "standby") == {"demo-keep-1"}


def test_a_part_that_does_not_exist_is_refused_with_those_that_do(demo: Cluster) -> None:
    done = demo.run("logs", "demo", "keeps")
    assert done.returncode == 2
    assert "Write one of keep, out" in done.stderr


def test_a_job_that_does_not_exist_is_refused_with_what_to_do(demo: Cluster) -> None:
    done = demo.run("logs", "other")
    assert done.returncode == 2
    assert "kubectl get streamjobs --all-namespaces" in done.stderr


def test_only_the_last_lines_are_shown_at_first(demo: Cluster) -> None:
    done = demo.run("logs", "demo", "out", "--tail", "1", "--no-follow")
    assert done.stdout == "[demo-sink-out] demo-sink-out goes on\n"


def test_it_follows_a_pod_that_is_created_later(demo: Cluster) -> None:
    program = demo.start("logs", "demo", "keep")
    stop = threading.Timer(30, program.kill)
    stop.start()
    assert program.stdout is not None
    first = {program.stdout.readline() for _ in range(4)}
    assert "[demo-keep-0] demo-keep-0 began\n" in first
    demo.log("demo-keep-2", "the new standby\n")
    demo.pod("demo-keep-2", "secondary")
    assert program.stdout.readline() == "[demo-keep-2] the new standby\n"
    program.terminate()
    program.wait(10)
    program.stdout.close()
    stop.cancel()


def test_it_ends_when_all_pods_have_ended(demo: Cluster) -> None:
    for name in demo.fake.all("pods"):
        pod = demo.fake.get("pods", name)
        assert pod is not None
        demo.fake.put("pods", pod | {"status": {"phase": "Succeeded"}})
    done = demo.run("logs", "demo")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 6)
