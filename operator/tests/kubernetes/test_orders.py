"""What the operator tells a running pod, over a real connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from understudy.control import intents as do
from understudy.control import names
from understudy.instance.serving import InstanceServing
from understudy.kubernetes.act import Actor
from understudy.kubernetes.api import Api
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Writer, unelected
from understudy.model.ha import Ha, Mode
from understudy.protocol.peermessage import Answer, Change, Done, Order
from understudy.streams.server import Server

from .fake_api import FakeApi

POD, GONE = "127.77.0.1", "127.77.0.2"  # addresses of their own: the port is that of every pod
OWNER = Owner("demo", "apps", "uid-job")


class Pod(InstanceServing):
    """Takes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Order] = []

    def act(self, order: Order) -> Answer:
        self.told.append(order)
        return Done()


@pytest.fixture
def pod() -> Iterator[Pod]:
    found = Pod()
    server = Server(POD, names.FLIGHT_PORT, found)
    yield found
    server.shutdown()


def actor_of(api: Api) -> Actor:
    return Actor(api, Writer(api, "apps", unelected(), {}), OWNER, None, PodSettings(image="understudy:test"))


def change(ip: str) -> do.ChangeInstance:
    return do.ChangeInstance("demo-keep-0", ip, 0, Ha(mode=Mode.SAVEPOINT), "")


def test_a_pod_is_told_how_its_subjob_is_to_be_kept_alive(pod: Pod) -> None:
    with FakeApi().serving() as api:
        actor_of(api).carry_out(change(POD))
    (order,) = pod.told
    assert isinstance(order, Change)
    assert Ha.model_validate(order.ha) == Ha(mode=Mode.SAVEPOINT)


def test_one_that_does_not_answer_holds_up_nobody() -> None:
    with FakeApi().serving() as api:
        actor_of(api).carry_out(change(GONE))
