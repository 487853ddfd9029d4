"""The studio over HTTP: a page, its files, and questions with answers in JSON.

Names of columns, categories and files travel in bodies only, never in an address. The log holds only unexpected errors,
each with its type and place.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from annotated_types import Ge, Le
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from shoal.studio.actions import GivenUp, OldEdition, Studio
from shoal.studio.analyses import Analysis
from shoal.studio.arguments import Answer, checked
from shoal.studio.candidates import proposed, proposed_for_tables
from shoal.studio.comparing import side_by_side
from shoal.studio.forms import catalogue
from shoal.studio.guard import AccessKeys
from shoal.studio.parcels import PIECE
from shoal.studio.plans import reading
from shoal.studio.saved import recent
from shoal.studio.script import script
from shoal.studio.session import as_text
from shoal.studio.standing import Standings
from shoal.studio.worker import WorkerGone, place_of_error
from shoal.vocabulary.errors import InputError, ShoalError

HERE = Path(__file__).parent
LOG = logging.getLogger("shoal.studio")

LARGEST_QUESTION = 8 << 20
LARGEST_FILE = 4 << 30
"""Bytes of a body."""

PATIENCE = 30.0
"""Longest wait, in seconds, for the next piece of a body."""

Answering = Callable[[Request], Awaitable[Any]]


async def pieces_of(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body piece by piece as it arrives, if it is not too large and not too slow."""
    parts: list[bytes] = []
    size = waiting = 0
    stream = request.stream().__aiter__()
    while True:
        try:
            part = await asyncio.wait_for(anext(stream), PATIENCE)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise HTTPException(408, "The rest of the question never came.") from None
        size, waiting = size + len(part), waiting + len(part)
        if size > most:
            raise HTTPException(413, "That is more than the studio accepts.")
        parts.append(part)
        if waiting >= PIECE:
            yield b"".join(parts)
            parts, waiting = [], 0
    yield b"".join(parts)


async def body_of(request: Request, most: int) -> bytes:
    """The whole body."""
    return b"".join([piece async for piece in pieces_of(request, most)])


async def asked(request: Request) -> Answer:
    """The question's arguments."""
    try:
        given = json.loads(await body_of(request, LARGEST_QUESTION) or b"{}")
    except (ValueError, RecursionError):
        raise HTTPException(400, "The question is not JSON.") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "The question must be a JSON object.")
    return given


def endpoint_of(answer: Callable[..., Awaitable[Any]]) -> Answering:
    """A function of a request that asks a question with the arguments in its body."""
    ask = checked(answer)

    async def answered(request: Request) -> Any:
        given = await asked(request)
        if "with" in given:
            given["given"] = given.pop("with")  # `with` cannot be a name in Python
        return await ask(**given)

    return answered


def answering(answer: Answering, shown: Callable[[], object]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that turns an answer into a response; of an unexpected error only type and place are told.

    A page that asks for what it shows is at no fault where another thing is `shown` by the time of the answer, or what
    it asked for was given up: that, too, is an answer.
    """

    async def endpoint(request: Request) -> Response:
        before = shown()
        try:
            return JSONResponse(await answer(request))
        except OldEdition as old:
            return JSONResponse({"error": str(old)}, status_code=409)
        except HTTPException as refusal:
            return JSONResponse({"error": refusal.detail}, status_code=refusal.status_code)
        except ShoalError as error:
            if isinstance(error, GivenUp) or (shown() is not before and not isinstance(error, WorkerGone)):
                return JSONResponse({"refused": str(error)})
            return JSONResponse({"error": str(error)}, status_code=422)
        except Exception:  # noqa: BLE001 - its message could show cells
            place = place_of_error()
            LOG.error("%s", place)
            return JSONResponse({"error": f"{place}. This is a mistake of shoal; please report it."}, status_code=500)

    return endpoint


Number = Annotated[int, Ge(0), Le(2**53)]
"""A whole number that a page can hold exactly."""


DONE = ("enter", "do", "look", "upload", "build-hierarchy", "read-hierarchies", "document", "approval")
"""Questions of which more comes than that something is shown: a refusal is an error, whatever happened meanwhile."""


class Questions:
    """The questions that pages may ask; each argument is checked by its type before anything is done."""

    def __init__(self, studio: Studio, keys: AccessKeys) -> None:
        self.studio = studio
        self.keys = keys
        self._catalogue: Answer | None = None
        self._standings = Standings()

    async def enter(self, token: str = "") -> Any:
        key = self.keys.key_for(token)
        if key is None:
            raise HTTPException(401, "This address was used already. Press Enter in the terminal for a new one.")
        return {"key": key}

    async def another_tab(self) -> Any:
        return {"token": self.keys.token()}

    async def state(self, since: int | None = None) -> Any:
        if since == self.studio.session.version:
            return {"version": since}
        return self.studio.state()

    async def act(self, do: str = "", given: Answer | None = None, edition: int | None = None) -> Any:
        """Do one action; its arguments `given` come as `with`."""
        await self.studio.act(do, given or {}, self.studio.session.edition if edition is None else edition)
        return self.studio.state()

    async def facts(self) -> Any:
        return self.studio.session.facts

    async def ledger(self) -> Any:
        """What stands in the ledger."""
        return await self.studio.ledger()

    async def recent(self) -> Any:
        """Saved work, the latest first."""
        return await asyncio.to_thread(recent, self.studio.saved)

    async def methods(self) -> Any:
        if self._catalogue is None:
            self._catalogue = await asyncio.to_thread(catalogue)
        return self._catalogue

    async def look(self, how: Answer | None = None, path: str | list[str] | None = None, aside: bool = False) -> Any:
        return await self.studio.look(how, path, aside=aside)

    async def exposure(self) -> Any:
        return await self.studio.exposure()

    async def rows(
        self,
        run: Number | None = None,
        offset: Number = 0,
        by: str | None = None,
        descending: bool = False,
        of: str = "",
    ) -> Any:
        return await self.studio.question("rows", run=run, offset=offset, by=by, descending=descending, of=of)

    async def pairs(self, run: Number, offset: Number = 0, of: str = "") -> Any:
        return await self.studio.question("pairs", run=run, offset=offset, of=of)

    async def identifiers(self, of: str = "") -> Any:
        return await self.studio.question("identifiers", of=of)

    async def column(self, name: str, run: Number | None = None, of: str = "") -> Any:
        return await self.studio.question("column", run=run, name=name, of=of)

    async def extremes(self, run: Number, of: str = "") -> Any:
        return await self.studio.question("extremes", run=run, of=of)

    async def together(self, names: tuple[str, str], run: Number | None = None, of: str = "") -> Any:
        return await self.studio.question("together", run=run, names=names, of=of, **self._text_of(run))

    async def categories(self, name: str, of: str = "") -> Any:
        return await self.studio.question("categories", name=name, of=of)

    async def links(self) -> Any:
        """By table of the present plan its rows and persons."""
        return await self.studio.question("links", **self._text_of(None))

    async def risks(self, run: Number | None = None, of: str = "") -> Any:
        return await self.studio.question("risks", run=run, of=of, **self._text_of(run))

    async def attribute_sets(self, run: Number | None = None, chosen: list[str] | None = None, of: str = "") -> Any:
        return await self.studio.question("attribute_sets", run=run, chosen=chosen or [], of=of, **self._text_of(run))

    async def follow(self, asked: Analysis) -> Any:
        """An analysis on the original and on every release that is here."""
        here = {run.number: run.text for run in self.studio.session.runs if run.released and not run.reopened}
        return await self.studio.question("follow", asked=asked, texts=here, **self._text_of(None))

    def _text_of(self, run: int | None) -> dict[str, str]:
        """The plan of a run, or the present one, and the folder of its files."""
        session = self.studio.session
        text = session.history.text if run is None else session.run(run).text
        return {"text": text, "folder": str(self.studio.folder)}

    async def preview(self, step: Number = 0, of: str = "") -> Any:
        return await self.studio.trial("preview", step=step, of=of)

    async def lattice(self, step: Number = 0, around: list[Number] | None = None) -> Any:
        return await self.studio.trial("lattice", step=step, around=around)

    async def beginnings(self, methods: list[str] | None = None) -> Any:
        """By kind and name of some methods of a step, or all, the settings with which each begins, or why it cannot."""
        return await self.studio.trial("beginnings", methods=methods)

    async def candidates(self) -> Any:
        """A section `explore` that suits the columns; empty without a plan."""
        plan, facts = self.studio.plan.plan, self.studio.session.facts
        levels = {column["name"]: column["level"] for column in facts.get("columns", [])}
        if (linked := self.studio.plan.linked) is not None:
            return proposed_for_tables(linked)
        return {} if plan is None else proposed(plan, levels)

    async def persons(self) -> Any:
        """How exposed persons are by all their rows; that this cannot be counted now is an answer."""
        try:
            return await self.studio.trial("persons")
        except InputError as reason:
            return {"refused": str(reason)}

    async def forecast(self, spec: Answer) -> Any:
        return await self.studio.trial("forecast", spec=spec)

    async def levels(self, column: str, spec: Any = None, of: str = "") -> Any:
        return await self.studio.question("levels", column=column, spec=spec, folder=str(self.studio.folder), of=of)

    async def build_hierarchy(self, column: str, how: str, sizes: tuple[float, ...] = (), of: str = "") -> Any:
        return await self.studio.question("build_hierarchy", column=column, how=how, sizes=list(sizes), of=of)

    async def read_hierarchies(self, files: list[dict[str, str]], of: str = "") -> Any:
        """Of each file its hierarchy, and the column that it is for."""
        return await self.studio.question("read_hierarchies", files=files, of=of)

    async def result(self, run: Number = 0) -> Any:
        ended = self.studio.session.run(run)
        return {**ended.result, "number": ended.number, "released": ended.released, "text": ended.text}

    async def standing(self, run: Number = 0) -> Any:
        """See `standing.standing`."""
        return self._standings.of(self.studio.session, run, lambda text: reading(text, self.studio.folder).plan)

    async def neighbours(self, run: Number = 0) -> Any:
        """The standing of a run, once variants of its plan were tried."""
        ended = self.studio.session.run(run)
        if ended.released and not ended.reopened and "tables" not in self.studio.session.facts:
            await self._standings.tried(ended.text, lambda: self.studio.trial("variants", text=ended.text))
        return await self.standing(run)

    async def compare(self) -> Any:
        return side_by_side(self.studio.session.runs)

    async def document(self, what: str = "", run: Number = 0, by: str = "", private: bool = False) -> Any:
        """A text to save: the plan or the script of a run, or one of its reports."""
        session = self.studio.session
        if what == "plan":
            return {"name": "plan.yaml", "text": session.run(run).text}
        if what == "script":
            return {"name": "protect.py", "text": script(session.run(run), session.facts)}
        if what == "work":
            return {"name": "work.json", "text": as_text(session.history)}
        if what == "reviewed":
            return {"name": "review.json", "text": self.studio.reviewed_text()}
        if what == "review":
            text = await self.studio.question("review_text", run=run, by=by, private=private)
            return {"name": f"review-{run}.json", "text": text}
        if what in ("public report", "private report"):
            private = what == "private report"
            page = await self.studio.question("report_page", run=run, private=private)
            return {"name": f"report-{'private' if private else 'public'}.html", "text": page}
        raise HTTPException(404, "There is no such document.")

    async def approval(self, run: Number = 0, review: str = "") -> Any:
        return await self.studio.question("approval", run=run, review=review)

    async def upload(self, request: Request) -> Any:
        name = unquote(request.headers.get("x-file-name", "table.csv"))
        try:
            how = json.loads(unquote(request.headers.get("x-reading", "{}")))
        except ValueError:
            raise HTTPException(400, "The options for reading the file are not JSON.") from None
        pieces, how = pieces_of(request, LARGEST_FILE), how if isinstance(how, dict) else {}
        if "x-look" in request.headers:
            return await self.studio.look(how, name=name, content=pieces)
        if (part := request.headers.get("x-part")) is not None:  # one of several that are opened together
            await self.studio.take_part(name, pieces, how, first=part == "0")
        else:
            await self.studio.take_file(name, pieces, how)
        return self.studio.state()


def application(studio: Studio, keys: AccessKeys) -> Starlette:
    """The page, its files and its questions, to be put behind `guard.Guard`."""
    questions = Questions(studio, keys)
    named: dict[str, Callable[..., Awaitable[Any]]] = {
        "enter": questions.enter,
        "another-tab": questions.another_tab,
        "state": questions.state,
        "do": questions.act,
        "facts": questions.facts,
        "recent": questions.recent,
        "ledger": questions.ledger,
        "methods": questions.methods,
        "look": questions.look,
        "exposure": questions.exposure,
        "rows": questions.rows,
        "pairs": questions.pairs,
        "identifiers": questions.identifiers,
        "column": questions.column,
        "extremes": questions.extremes,
        "together": questions.together,
        "links": questions.links,
        "categories": questions.categories,
        "levels": questions.levels,
        "risks": questions.risks,
        "attribute-sets": questions.attribute_sets,
        "follow": questions.follow,
        "preview": questions.preview,
        "lattice": questions.lattice,
        "beginnings": questions.beginnings,
        "candidates": questions.candidates,
        "forecast": questions.forecast,
        "persons": questions.persons,
        "read-hierarchies": questions.read_hierarchies,
        "build-hierarchy": questions.build_hierarchy,
        "result": questions.result,
        "standing": questions.standing,
        "neighbours": questions.neighbours,
        "compare": questions.compare,
        "document": questions.document,
        "approval": questions.approval,
    }
    answers = {name: endpoint_of(answer) for name, answer in named.items()} | {"upload": questions.upload}
    seen = {name: (lambda: None) if name in DONE else (lambda: studio.session.facts) for name in answers}
    routes = [Route(f"/api/{name}", answering(answers[name], seen[name]), methods=["POST"]) for name in answers]
    static = Mount("/static", StaticFiles(directory=HERE / "static"))
    return Starlette(routes=[Route("/", page), *routes, static])


async def page(request: Request) -> HTMLResponse:
    """The empty page; it holds no data."""
    shell = (HERE / "page.html").read_text(encoding="utf-8")
    return HTMLResponse(shell.replace("NONCE", request.scope["nonce"]))
