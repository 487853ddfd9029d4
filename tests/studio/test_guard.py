"""Who may speak to a running studio, line by line."""

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from urllib.parse import quote, urlparse

import pytest

from shoal.studio import serve
from shoal.studio.actions import Studio
from shoal.studio.api import Questions
from shoal.studio.guard import HEADERS, AccessKeys, Guard
from studio.running import LONGEST, Running, children, running

PLANTED = "Zaphod-Beeblebrox-4711"
"""A cell that must never stand in a log."""

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this system")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("studio")) as one:
        one.enter()
        yield one


FOREIGN = ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "evil.example:{port}", "127.0.0.1:{port}.evil"]
ELSEWHERE = ["../page.html", "%2e%2e/guard.py", "..%2f..%2fguard.py", "/etc/passwd", "%00"]


@pytest.mark.parametrize("host", [*FOREIGN, "[::1]:{port}"])
def test_a_foreign_host_is_answered_421(studio: Running, host: str) -> None:
    """Rebinding makes an attacker's name stand for this machine: then host and origin are both the attacker's."""
    name = host.format(port=studio.port)
    for path, method in (("/", "GET"), ("/static/app.js", "GET"), ("/api/state", "POST")):
        headers = {"Host": name, "Origin": f"http://{name}", "Authorization": f"Bearer {studio.key}"}
        assert studio.request(method, path, headers=headers)[0] == 421


def test_no_host_and_two_hosts_are_refused(studio: Running) -> None:
    for hosts in ("", f"Host: 127.0.0.1:{studio.port}\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", studio.port), LONGEST) as raw:
            raw.sendall(f"GET / HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
            assert raw.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1:{port}.evil"]
)
def test_a_foreign_origin_is_refused(studio: Running, origin: str) -> None:
    given = origin.format(port=studio.port)
    assert studio.ask("state", Origin=given)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_sends_is_refused(studio: Running, site: str) -> None:
    assert studio.ask("state", **{"Sec-Fetch-Site": site})[0] == 403
    assert studio.request("GET", "/static/app.js", headers={"Sec-Fetch-Site": site})[0] == 403


def test_its_own_page_is_let_through(studio: Running) -> None:
    own = {"Origin": f"http://127.0.0.1:{studio.port}", "Sec-Fetch-Site": "same-origin"}
    assert studio.ask("state", **own)[0] == 200


@pytest.mark.parametrize("key", ["", "Bearer", "Bearer x", "Basic eDp5"])
def test_without_the_key_no_question_is_answered(studio: Running, key: str) -> None:
    for name in ("state", "facts", "rows", "do", "methods", "upload", "document", "result"):
        status, answer = studio.ask(name, Authorization=key)
        assert (status, list(answer)) == (401, ["error"])


def test_a_token_is_used_once_and_none_is_guessed(studio: Running) -> None:
    for token in (studio.token, studio.token[:-1], "", "0" * 43):
        assert studio.ask("enter", {"token": token})[0] == 401


def test_another_tab_gets_a_token_from_one_that_is_in(studio: Running) -> None:
    token = studio.ask("another-tab")[1]["token"]
    assert studio.ask("enter", {"token": token})[0] == 200
    assert studio.ask("enter", {"token": token})[0] == 401


def test_a_key_of_one_studio_opens_no_other(studio: Running, empty: Running) -> None:
    assert empty.ask("state", Authorization=f"Bearer {studio.key}")[0] == 401


def test_every_answer_bears_the_headers_and_no_cookie(studio: Running) -> None:
    for path, headers in (("/", {}), ("/static/app.js", {}), ("/nothing", {}), ("/", {"Host": "evil.example"})):
        _, said, _ = studio.request("GET", path, headers=headers)
        assert {name: said.get(name) for name in HEADERS} == HEADERS
        assert "set-cookie" not in said
        policy = said["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_the_nonce_is_another_one_each_time_and_the_shell_holds_no_data(studio: Running) -> None:
    first, second = (studio.request("GET", "/") for _ in range(2))
    assert first[1]["content-security-policy"] != second[1]["content-security-policy"]
    nonce = first[1]["content-security-policy"].split("'nonce-")[1].split("'")[0]
    assert nonce in first[2].decode()


@pytest.mark.parametrize("path", ELSEWHERE)
def test_nothing_but_its_own_files_is_served(studio: Running, path: str) -> None:
    status, _, body = studio.request("GET", f"/static/{path}")
    assert status in (404, 400)
    assert b"import" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_files_are_only_read(studio: Running, method: str) -> None:
    assert studio.request(method, "/")[0] == 405


def test_questions_are_only_posted(studio: Running) -> None:
    assert studio.request("GET", "/api/state", headers={"Authorization": f"Bearer {studio.key}"})[0] == 405


def test_a_question_that_is_too_large_is_refused(studio: Running) -> None:
    headers = {"Authorization": f"Bearer {studio.key}"}
    assert studio.request("POST", "/api/do", b" " * (9 << 20), headers)[0] == 413


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff"])
def test_a_question_that_is_none_is_refused(studio: Running, body: bytes) -> None:
    assert studio.request("POST", "/api/do", body, {"Authorization": f"Bearer {studio.key}"})[0] == 400


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rows", {"offset": "x"}),
        ("rows", {"offset": 1e30}),
        ("rows", {"offset": -1}),
        ("rows", {"offset": None}),
        ("rows", {"run": [1]}),
        ("rows", {"by": {"a": 1}}),
        ("preview", {"step": "x"}),
        ("preview", {"step": 2**70}),
        ("result", {"run": {}}),
        ("levels", {"spec": None}),
        ("levels", {"column": 5}),
        ("build-hierarchy", {"column": "age", "how": "intervals", "sizes": "x"}),
        ("build-hierarchy", {"column": "age", "how": "intervals", "sizes": [[]]}),
        ("enter", {"token": ["x"]}),
        ("document", {"what": {}}),
        ("approval", {"run": "x", "review": 5}),
        ("state", {"since": {}, "more": 1}),
        ("do", {"do": ["run"]}),
        ("do", {"do": "undo", "edition": "x"}),
        ("do", {"do": "put", "with": ["x"]}),
        ("do", {"do": "put", "with": {"changes": "x", "note": "n"}}),
        ("do", {"do": "put", "with": {"changes": [{"value": 1}], "note": "n"}}),
        ("do", {"do": "put", "with": {"changes": [{"place": 3, "value": 1}], "note": "n"}}),
        ("do", {"do": "put", "with": {"changes": [{"place": ["a"], "yaml": 3}], "note": "n"}}),
        ("do", {"do": "put", "with": {"changes": [{"place": [[]], "value": 3}], "note": "n"}}),
        ("do", {"do": "swap", "with": {"place": ["steps"], "first": "a", "second": 0, "note": "n"}}),
        ("do", {"do": "edit", "with": {"text": 5}}),
        ("do", {"do": "go", "with": {"at": "x"}}),
        ("do", {"do": "open", "with": {"path": 5}}),
        ("do", {"do": "run", "with": {"seed": "x"}}),
        ("do", {"do": "run", "with": {"seed": -1}}),
        ("do", {"do": "edit_hierarchy", "with": {"column": "age", "edit": 5, "note": "n"}}),
    ],
)
def test_an_ill_typed_question_is_refused_in_a_sentence(studio: Running, name: str, given: dict) -> None:
    """No mistake of the asker is called one of shoal's."""
    status, answer = studio.ask(name, given)
    assert status == 422
    assert "mistake of shoal" not in answer["error"]
    assert answer["error"].endswith(".")


@pytest.mark.parametrize("name", ["nothing", "__class__", "stop", "put; rm"])
def test_only_actions_are_done(studio: Running, name: str) -> None:
    assert studio.ask("do", {"do": name})[0] == 422


def test_a_slow_client_holds_nobody_up(studio: Running) -> None:
    with socket.create_connection(("127.0.0.1", studio.port), LONGEST) as slow:
        slow.sendall(
            f"POST /api/enter HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nContent-Length: 50\r\n\r\n{{".encode()
        )
        assert studio.ask("state")[0] == 200
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):  # it is still waited for: neither answered nor sent away
            slow.recv(1)


def test_two_hundred_questions_at_once(studio: Running) -> None:
    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(lambda _: studio.ask("state")[0], range(200))) == {200}


def test_an_old_edition_is_answered_409(studio: Running) -> None:
    edition = studio.ask("state")[1]["edition"]
    assert studio.ask("do", {"do": "edit", "with": {"text": "a: 1"}, "edition": edition})[0] == 200
    assert studio.ask("do", {"do": "edit", "with": {"text": "b: 1"}, "edition": edition})[0] == 409
    assert studio.ask("state")[1]["text"] == "a: 1"


def test_it_listens_on_this_machine_alone(studio: Running) -> None:
    listening = Path(f"/proc/{studio.process.pid}/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc on this system")
    of_port = [line.split()[1] for line in listening.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert f"0100007F:{studio.port:04X}" in of_port
    assert f"00000000:{studio.port:04X}" not in of_port


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi")
)
"""Nine levels of nine references each: written out, hundreds of millions of entries."""

HOSTILE_PLANS = {
    "bomb": BOMB,
    "circle": "steps: &s [*s]",
    "deep": "steps: " + "[" * 20_000,
    "code": "!!python/object/apply:os.system ['touch planted']",
    "digits": "steps: [{partition: mdav, k: " + "9" * 6000 + "}]",
    "keys": "columns: {__proto__: other, constructor: {role: other}, ? [a, b] : other}",
    "not a mapping": "[[]]",
    "control": 'columns: {a: "\\x00\\e]0;x\\a"}',
    "elsewhere": "columns: {a: {role: quasi-identifier, hierarchy: ../../../../etc/passwd}}",
}


@pytest.mark.parametrize("plan", HOSTILE_PLANS)
def test_a_hostile_plan_is_only_a_plan_with_mistakes(studio: Running, plan: str) -> None:
    status, answer = studio.ask("do", {"do": "edit", "with": {"text": HOSTILE_PLANS[plan]}})
    assert status in (200, 422)
    assert len(json.dumps(answer)) < 10**6
    assert not (studio.log.parent / "planted").exists()
    assert "root:" not in json.dumps(answer)
    assert studio.ask("do", {"do": "edit", "with": {"text": ""}})[0] == 200  # and it goes on
    assert "Traceback" not in studio.log.read_text()


@pytest.mark.parametrize("name", ["../../evil.csv", "/etc/evil.csv", "..", ".", "", "a\0b.csv", "x" * 5000 + ".csv"])
def test_the_name_of_a_dropped_file_leads_nowhere(studio: Running, name: str) -> None:
    headers = {"Authorization": f"Bearer {studio.key}", "X-File-Name": quote(name, safe="")}
    assert studio.request("POST", "/api/upload", b"a,b\n1,2\n3,4\n", headers)[0] == 200
    state = studio.idle()
    opened = state["source"] == "evil.csv"
    assert opened == name.endswith("evil.csv")
    assert opened or state["notice"][0] == "error"
    assert [path.name for path in studio.log.parent.iterdir()] == ["studio.log"]
    assert not list(studio.log.parent.parent.glob("evil*"))
    if opened:
        studio.act("close")
    assert studio.idle()["source"] is None


def test_a_closed_table_is_forgotten(studio: Running) -> None:
    studio.act("example")
    assert studio.idle()["rows"] == 1000
    state = studio.act("close")
    assert (state["source"], state["text"], state["runs"]) == (None, "", [])
    assert studio.ask("facts")[1] == {}
    assert "No table is open" in studio.ask("rows")[1]["error"]
    assert "No table is open" in studio.ask("exposure")[1]["refused"]  # a page may be waiting for it
    assert studio.ask("do", {"do": "run"})[0] == 422


@NEEDS_PROC
def test_no_cell_stands_in_the_log(tmp_path: Path) -> None:
    """After opening, running, refusing, mistakes and a killed process."""
    (tmp_path / "people.csv").write_text(
        "name,age,town\n" + "".join(f"{PLANTED}{i},{20 + i % 50},{PLANTED}-town-{i % 7}\n" for i in range(120))
    )
    with running(tmp_path, "people.csv") as studio:
        studio.enter()
        assert studio.idle()["rows"] == 120
        studio.act("run")
        studio.idle()
        studio.act("put", changes=[{"place": ["requirements", 0, "k"], "value": 10**6}], note="ask for more")
        studio.act("run")
        assert studio.idle()["runs"][-1]["released"] is False
        studio.ask("rows", {"by": "name", "offset": "x"})
        studio.ask("levels", {"column": "town", "spec": {"nested": {PLANTED: 3}}})
        studio.ask("rows", {"run": 99})
        studio.act("edit", text=f"columns: [{PLANTED}")
        for name, method in vars(Studio).items():  # every action, with what it cannot use
            if name.startswith("do_") and name not in ("do_close", "do_example"):
                given = dict.fromkeys([p for p in signature(method).parameters if p != "self"], PLANTED)
                studio.ask("do", {"do": name.removeprefix("do_"), "with": given})
                studio.idle()
        for question in sorted(vars(Questions)):
            if not question.startswith("_") and question != "act":  # which is asked as "do", above
                given = dict.fromkeys(("run", "column", "spec", "how", "sizes", "step", "what", "by", "token"), PLANTED)
                studio.ask(question.replace("_", "-"), given)
        for child in children(studio.process.pid):
            os.kill(child, 9)
        studio.ask("rows")
        studio.ask("state")
        log = studio.log.read_text()
    assert PLANTED not in log
    assert "Traceback" not in log
    assert not list(tmp_path.glob("shoal-*"))


def at_work(process: int) -> bool:
    """Whether a process is there; one that has ended may wait to be counted by its parent, if that ever does so."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@NEEDS_PROC
def test_the_page_says_when_the_table_is_lost_and_goes_on(studio: Running) -> None:
    studio.act("example")
    studio.idle()
    for child in children(studio.process.pid):
        os.kill(child, 9)
    status, answer = studio.ask("rows")
    assert (status, "process that held the table" in answer["error"]) == (422, True)
    assert "Open it again" in studio.ask("state")[1]["notice"][1]
    studio.act("example")
    assert studio.idle()["rows"] == 1000
    studio.act("close")


@NEEDS_PROC
def test_its_processes_end_with_it(tmp_path: Path) -> None:
    with running(tmp_path) as studio:
        there = children(studio.process.pid)
        assert len(there) == 2
        studio.process.kill()
        studio.process.wait()
        end = time.monotonic() + LONGEST
        while any(map(at_work, there)):
            assert time.monotonic() < end
            time.sleep(0.05)


def test_the_way_for_the_browser_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others can see what a browser is started with, so the token stands in a file that they cannot read."""
    shown: list[str] = []

    class Here:
        def __init__(self, target: object, args: tuple[str], daemon: bool) -> None:
            shown.extend(args)

        def start(self) -> None:
            pass

    monkeypatch.setattr(serve, "Thread", Here)
    serve._show_the_way(tmp_path, "http://127.0.0.1:9/#secret", browser=True, say=lambda text: None)
    assert len(shown) == 1
    assert "secret" not in shown[0]
    path = Path(urlparse(shown[0]).path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "url=http://127.0.0.1:9/#secret" in path.read_text()


def let_through(kind: str = "http", method: str = "POST", path: str = "/api/ask", hosts: int = 1) -> bool:
    """Whether the guard by itself hands something on, whatever the server before it and the app behind it would do."""
    keys, handed_on = AccessKeys(), []
    key = keys.key_for(keys.token()) or ""
    headers = [(b"host", b"127.0.0.1:9")] * hosts + [(b"authorization", f"Bearer {key}".encode())]

    async def app(*request: object) -> None:
        handed_on.append(request)

    async def nothing(*message: object) -> None:
        pass

    scope = {"type": kind, "method": method, "path": path, "headers": headers}
    asyncio.run(Guard(app, 9, keys)(scope, nothing, nothing))
    return bool(handed_on)


def test_the_guard_relies_on_nobody_else() -> None:
    assert let_through()
    assert let_through("lifespan")
    assert not let_through("websocket")
    assert not let_through(hosts=2)
    assert not let_through(hosts=0)
    assert not let_through(method="GET")
    assert not let_through(method="GET", path="/api/enter")
    assert let_through(method="GET", path="/") and let_through(method="HEAD", path="/")
    assert not let_through(method="POST", path="/")
