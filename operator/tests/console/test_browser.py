"""The console in a real browser. The pictures go to the folder UNDERSTUDY_SCREENSHOTS, if it is set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.console.runs import folder, running, telemonitoring, with_page, without
from understudy.console.board import Board
from understudy.console.finished_run import read_folder
from understudy.console.look import view_of
from understudy.console.seen import JobSeen
from understudy.console.server import ConsoleServer
from understudy.protocol.statuspage import State

pytestmark = pytest.mark.browser

WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
SECOND_MS = 1_000
MARKUP = "<img src=x onerror=document.body.remove()>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program is not None, "Debian's package chromium is missing"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def server(board: Board) -> Iterator[ConsoleServer]:
    found = ConsoleServer(board)
    yield found
    found.stop()


@pytest.fixture
def page(browser: Browser, server: ConsoleServer) -> Iterator[Page]:
    """A page whose scripts must not fail, and which must not break its content security policy."""
    context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    found, errors = context.new_page(), list[str]()
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on("console", lambda said: errors.append(_words(said)) if _is_error(said) else None)
    found.goto(server.url)
    yield found
    context.close()
    assert not errors


def _is_error(said: ConsoleMessage) -> bool:
    """A connection that is lost on purpose is none."""
    return said.type == "error" and "net::ERR_" not in said.text


def _words(said: ConsoleMessage) -> str:
    return f"{said.text} at {said.location}"


def finished(tmp_path: Path, lost: int = 0) -> JobSeen:
    found = read_folder(folder(tmp_path, lost))
    assert isinstance(found, JobSeen)
    return found


def picture(page: Page, name: str, whole: bool = False) -> None:
    where = os.environ.get("UNDERSTUDY_SCREENSHOTS")
    if where:
        page.screenshot(path=Path(where) / f"console-{name}.png", full_page=whole)


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    found = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert isinstance(found, int)
    return found


def test_a_running_job_is_drawn_as_its_network(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    expect(page.get_by_role("status")).to_contain_text("SAFE")
    expect(page.locator("[data-node]")).to_have_count(6)
    expect(page.locator("path.edge")).to_have_count(5)
    beats = page.locator("[data-node='subjob/beats']")
    expect(beats).to_contain_text("passive standby")
    expect(beats).to_contain_text("A failure now replays 40 tuples, about 0.2 s; loses nothing")
    expect(page.locator("g.label").first).to_contain_text("500/s")
    picture(page, "live")


def test_edges_begin_and_end_at_their_nodes(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    expect(page.locator("path.edge")).to_have_count(5)
    ends = page.evaluate(
        """() => {
            const at = document.querySelector(".layers").getBoundingClientRect();
            const path = document.querySelector("path.edge");
            const box = (id) => document.querySelector(`[data-node="${id}"]`).getBoundingClientRect();
            const [a, b] = [path.getPointAtLength(0), path.getPointAtLength(path.getTotalLength())];
            return [a.x + at.left - box("source/ecg").right, b.x + at.left - box("subjob/beats").left];
        }"""
    )
    assert [abs(end) < 1 for end in ends] == [True, True]


def test_a_change_is_on_the_page_within_a_second(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    expect(page.get_by_role("status")).to_contain_text("SAFE")
    board.show(view_of(with_page(running(), "beats-1", protected=False)))
    expect(page.get_by_role("status")).to_contain_text(
        "AT RISKOutput flows, but no standby is ready to take over beats.", timeout=SECOND_MS
    )
    board.show(view_of(without(running(), "beats-1")))
    expect(page.get_by_role("status")).to_contain_text("DOWN", timeout=SECOND_MS)


def test_a_finished_run_shows_its_incident_step_by_step(page: Page, board: Board, tmp_path: Path) -> None:
    board.show(view_of(finished(tmp_path)))
    expect(page.get_by_role("status")).to_contain_text("PROMISES KEPT")
    incident = page.locator(".incident")
    expect(incident).to_have_count(1)
    expect(incident).to_contain_text("beats-0 → beats-1")
    expect(incident.locator("text.step")).to_have_text(
        ["detected", "promoted", "state restored", "first output", "caught up", "protected again"]
    )
    expect(incident.locator("svg.chart:not(.steps) rect.bar").first).to_be_visible()
    expect(incident.locator(".figures")).to_contain_text("402 ms")


def test_a_broken_promise_is_not_drawn_as_kept(page: Page, board: Board, tmp_path: Path) -> None:
    board.show(view_of(finished(tmp_path, lost=7)))
    expect(page.get_by_role("status")).to_contain_text("NOT KEPT")
    expect(page.locator(".figures .bad")).to_have_text("7")


def test_it_is_dark_where_people_want_it_dark(page: Page, board: Board, tmp_path: Path) -> None:
    board.show(view_of(finished(tmp_path)))
    expect(page.locator(".incident")).to_have_count(1)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(245, 246, 248)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == "rgb(16, 19, 23)"
    picture(page, "dark", whole=True)


def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page, board: Board, tmp_path: Path) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    board.show(view_of(finished(tmp_path)))
    expect(page.locator(".incident")).to_have_count(1)
    assert sideways(page) == 0
    picture(page, "phone")


def test_details_open_with_enter_and_close_with_escape_where_the_focus_was(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    node = page.locator("[data-node='subjob/correlate']")
    node.focus()
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("filter, join")
    expect(sheet).to_contain_text("correlate-1")
    picture(page, "details")
    board.show(view_of(replace(running(), now_ms=running().now_ms + 250)))
    expect(sheet).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(node).to_be_focused()


def test_nodes_are_reached_by_tab_in_the_order_of_the_network(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    expect(page.locator("[data-node]")).to_have_count(6)
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.dataset.node"))
    assert reached[0] == "source/ecg"
    assert reached[-1] == "sink/alerts"


def test_a_new_view_leaves_the_focus_where_it_is(page: Page, board: Board) -> None:
    board.show(view_of(running()))
    page.locator("[data-node='subjob/beats']").focus()
    board.show(view_of(without(running(), "beats-1")))
    expect(page.get_by_role("status")).to_contain_text("DOWN")
    assert page.evaluate("document.activeElement.dataset.node") == "subjob/beats"


def test_what_a_manifest_or_a_process_says_is_never_markup(page: Page, board: Board) -> None:
    seen = running(telemonitoring("out/alerts", f"out/{MARKUP}"))
    seen = with_page(without(seen, "beats-1"), "correlate-0", error=MARKUP, state=State.FAILED)
    (incident,) = seen.incidents
    board.show(view_of(replace(seen, incidents=(replace(incident, cause=MARKUP, victim=MARKUP),))))
    expect(page.get_by_role("status")).to_contain_text(MARKUP)
    expect(page.locator("[data-node='sink/alerts']")).to_contain_text(MARKUP)
    expect(page.locator(".incident")).to_contain_text(MARKUP)
    page.locator("[data-node='subjob/correlate']").click()
    expect(page.get_by_role("dialog")).to_contain_text(MARKUP)
    assert page.locator("img").count() == 0


def test_a_lost_connection_is_said(page: Page, board: Board, server: ConsoleServer) -> None:
    board.show(view_of(running()))
    expect(page.locator(".live")).to_contain_text("running for 30 s")
    board.close()
    page.context.set_offline(True)
    expect(page.locator(".live")).to_contain_text("connection lost")


def test_only_the_loss_of_a_standby_is_said_to_leave_the_output_alone(page: Page, board: Board) -> None:
    (incident,) = running().incidents
    for role, said in (("standby", "did not stop"), ("primary", "has not come back"), ("sink", "replayed")):
        changed = replace(incident, role=role, recovery_ms=None)
        board.show(view_of(replace(running(), incidents=(changed,))))
        expect(page.locator(".figures > div").first).to_contain_text(said)
