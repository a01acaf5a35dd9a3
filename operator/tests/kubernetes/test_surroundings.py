"""What a pod's process sees of Kubernetes: its Lease by compare-and-set, the start time, addresses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from understudy.kubernetes.objects import Owner, lease, record
from understudy.kubernetes.surroundings import KubernetesSurroundings
from understudy.process.ports import Unreachable
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch

from .fake_api import FakeApi

OWNER = Owner("demo", "apps", "uid-job")


@pytest.fixture
def fake() -> FakeApi:
    found = FakeApi()
    found.put("leases", lease(OWNER, "keep", None, None, 0, 0))
    found.put("configmaps", record(OWNER, {"revision": "abc"}))
    return found


@pytest.fixture
def at(fake: FakeApi) -> Iterator[KubernetesSurroundings]:
    with fake.serving(timeout=0.5) as api:
        yield KubernetesSurroundings(api, "apps", "demo")


def test_a_lease_that_nobody_holds_is_none(at: KubernetesSurroundings) -> None:
    assert at.read_lease("keep") is None


def test_taking_the_lease_writes_holder_epoch_and_address(fake: FakeApi, at: KubernetesSurroundings) -> None:
    won = at.try_lease("keep", None, "demo-keep-0", "10.0.0.1:7070")
    assert won == LeaseRecord("demo-keep-0", "10.0.0.1:7070", Epoch(1))
    assert at.read_lease("keep") == won
    written = fake.get("leases", "demo-keep")
    assert written is not None
    assert written["spec"]["leaseTransitions"] == 1
    assert written["metadata"]["annotations"]["understudy.dev/address"] == "10.0.0.1:7070"


def test_acks_to_sources_are_kept_on_the_lease_and_survive_a_change_of_hands(
    at: KubernetesSurroundings,
) -> None:
    assert at.kept_acks("keep") is None
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    at.keep_acks("keep", '{"next": 5}', Epoch(1))
    assert at.read_lease("keep") == first
    assert at.try_lease("keep", first, "demo-keep-1", "b:1") is not None
    assert at.kept_acks("keep") == '{"next": 5}'


def test_acks_of_a_life_that_was_replaced_do_not_overwrite_those_of_its_successor(
    at: KubernetesSurroundings,
) -> None:
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    assert first is not None
    assert at.try_lease("keep", first, "demo-keep-1", "b:1") is not None
    at.keep_acks("keep", '{"next": 9}', Epoch(2))
    with pytest.raises(Unreachable):
        at.keep_acks("keep", '{"next": 5}', Epoch(1))
    assert at.kept_acks("keep") == '{"next": 9}'


def test_a_lease_is_taken_from_a_silent_holder_only_if_the_question_still_stands(
    at: KubernetesSurroundings,
) -> None:
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    assert first is not None
    at.ask_holder("keep", first, "one")
    asked = at.read_lease("keep")
    assert asked is not None
    assert (asked, asked.question) == (first, "one")
    at.ask_holder("keep", first, "two")
    again = at.read_lease("keep")
    assert again is not None
    assert again.question == "one", "the first question stands until it is answered"
    at.answer("keep")
    assert at.try_lease("keep", asked, "demo-keep-1", "b:1") is None, "it was answered: the holder lives"
    at.ask_holder("keep", first, "three")
    later = at.read_lease("keep")
    assert at.try_lease("keep", asked, "demo-keep-1", "b:1") is None, "this is another question"
    assert at.try_lease("keep", later, "demo-keep-1", "b:1") == LeaseRecord("demo-keep-1", "b:1", Epoch(2))
    taken = at.read_lease("keep")
    assert taken is not None
    assert taken.question is None, "it was meant for the former holder"


def test_an_expectation_that_no_longer_holds_takes_nothing(at: KubernetesSurroundings) -> None:
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    second = at.try_lease("keep", first, "demo-keep-1", "b:1")
    assert second == LeaseRecord("demo-keep-1", "b:1", Epoch(2))
    assert at.try_lease("keep", first, "demo-keep-2", "c:1") is None
    assert at.try_lease("keep", None, "demo-keep-2", "c:1") is None


def test_a_change_between_reading_and_writing_takes_nothing(
    fake: FakeApi, at: KubernetesSurroundings
) -> None:
    fake.before_put = lambda: fake.put("leases", lease(OWNER, "keep", "demo-keep-9", "z:1", 7, 0))
    assert at.try_lease("keep", None, "demo-keep-0", "a:1") is None
    assert at.read_lease("keep") == LeaseRecord("demo-keep-9", "z:1", Epoch(7))


def test_of_several_instances_that_try_at_once_one_wins(fake: FakeApi, at: KubernetesSurroundings) -> None:
    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(lambda n: at.try_lease("keep", None, f"demo-keep-{n}", f"h:{n}"), range(8)))
    assert sum(w is not None for w in won) == 1


def test_epochs_go_on_when_the_operator_had_to_make_the_lease_again(
    fake: FakeApi, at: KubernetesSurroundings
) -> None:
    fake.put("leases", lease(OWNER, "keep", None, None, 5, 0))
    won = at.try_lease("keep", None, "demo-keep-0", "a:1")
    assert won is not None
    assert won.epoch == 6


def test_the_start_time_is_none_until_it_is_set_and_then_stays(
    fake: FakeApi, at: KubernetesSurroundings
) -> None:
    assert at.start_time() is None
    fake.put("configmaps", record(OWNER, {"startTime": "1800000000000"}))
    assert at.start_time() == 1_800_000_000_000
    fake.down = True
    assert at.start_time() == 1_800_000_000_000


@pytest.mark.parametrize("missing", ["lease", "api server"])
def test_an_unreachable_api_server_raises_unreachable(
    fake: FakeApi, at: KubernetesSurroundings, missing: str
) -> None:
    if missing == "lease":
        del fake.objects["leases", "apps", "demo-keep"]
    else:
        fake.down = True
    with pytest.raises(Unreachable):
        at.read_lease("keep")
    with pytest.raises(Unreachable):
        at.try_lease("keep", None, "demo-keep-0", "a:1")


def test_a_connection_closed_meanwhile_is_opened_again(fake: FakeApi, at: KubernetesSurroundings) -> None:
    fake.hangs_up = True
    assert at.read_lease("keep") is None
    assert at.read_lease("keep") is None
    fake.down = True
    with pytest.raises(Unreachable):
        at.read_lease("keep")
    fake.down = False
    assert at.read_lease("keep") is None


def test_every_request_carries_the_token(fake: FakeApi, at: KubernetesSurroundings) -> None:
    at.read_lease("keep")
    assert fake.tokens == ["Bearer secret"]


def test_addresses_come_from_dns(at: KubernetesSurroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(name: str, port: int, **_: Any) -> list[Any]:
        assert name == "demo-keep"
        return [(2, 1, 6, "", ("10.0.0.1", port)), (2, 1, 6, "", ("10.0.0.2", port))]

    monkeypatch.setattr("socket.getaddrinfo", answer)
    assert at.addresses("keep") == ["10.0.0.1:7070", "10.0.0.2:7070"]


def test_a_name_that_does_not_resolve_is_no_address(at: KubernetesSurroundings) -> None:
    assert at.addresses("no-such-subjob") == []


def test_a_pod_does_not_load_what_only_the_operator_needs() -> None:
    script = (
        "import sys, understudy.kubernetes.surroundings\n"
        "sys.exit(bool({'kopf', 'aiohttp'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_planned_take_over_needs_a_lease_that_still_names_its_successor(
    fake: FakeApi, at: KubernetesSurroundings
) -> None:
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    assert first is not None
    handed = replace(first, successor="demo-keep-1")
    assert at.try_lease("keep", handed, "demo-keep-1", "b:1") is None
    found = fake.get("leases", "demo-keep")
    assert found is not None
    found["metadata"]["annotations"]["understudy.dev/successor"] = "demo-keep-1"
    fake.put("leases", found)
    assert at.try_lease("keep", handed, "demo-keep-1", "b:1") == LeaseRecord("demo-keep-1", "b:1", Epoch(2))


def test_of_readers_that_choose_at_once_one_wins(at: KubernetesSurroundings) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = [*pool.map(lambda n: at.choose("keep", "ecg", None, f"choice {n}"), range(2))]
    assert sorted(won) == [False, True]
    assert at.chosen("keep", "ecg") == f"choice {won.index(True)}"


def test_a_choice_survives_a_change_of_hands_and_other_notes_on_the_lease(at: KubernetesSurroundings) -> None:
    assert at.choose("keep", "ecg", None, "a")
    assert not at.choose("keep", "ecg", None, "b")
    first = at.try_lease("keep", None, "demo-keep-0", "a:1")
    at.keep_acks("keep", "acks", Epoch(1))
    assert at.try_lease("keep", first, "demo-keep-1", "b:1") is not None
    assert at.choose("keep", "ecg", "a", "b")
    assert (at.chosen("keep", "ecg"), at.kept_acks("keep")) == ("b", "acks")
