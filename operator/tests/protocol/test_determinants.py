"""Output that waits until the secondary has confirmed its determinants."""

from __future__ import annotations

from understudy.protocol.determinants import Determinant, Free, Pending
from understudy.protocol.ids import Seq, Stream

OUT = Stream("out")


def step(number: int) -> Determinant:
    return Determinant("job", {}, {}, (number,))


def two_messages() -> Pending:
    pending = Pending()
    for number in (1, 2):
        pending.add(step(number), OUT, Seq(10 * number))
        assert pending.message() == (number, (step(number),))
    return pending


def test_there_is_no_message_if_nothing_is_new() -> None:
    assert Pending().message() is None
    assert two_messages().message() is None


def test_a_confirmation_frees_what_its_message_and_those_before_it_held() -> None:
    pending = two_messages()
    assert pending.stored(1) == Free((step(1),), {OUT: Seq(10)})
    assert (pending.oldest, pending.unconfirmed) == (2, (step(2),))
    assert pending.stored(2) == Free((step(2),), {OUT: Seq(20)})


def test_it_is_settled_when_all_is_confirmed() -> None:
    pending = two_messages()
    assert not pending.settled
    pending.stored(2)
    assert pending.settled
    pending.add(step(3), OUT, Seq(30))
    assert not pending.settled
