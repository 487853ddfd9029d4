"""Access control of the studio: only its own pages, on this machine, with a valid key.

A page of another site can make a browser send requests to any port of this machine, and can make its own name resolve
to 127.0.0.1. So every request must name the studio's own host, exactly; must not come from another origin, which the
browser states and no page can change; and must carry a key that no other page knows. Host and origin are compared with
the studio's own, never with each other, since an attacker's name would be in both. There are no cookies: a browser
sends them to every port of a machine.

A key is given in exchange for a token, once. The token follows the `#` of the address, a part that is never sent.
"""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OWN = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` for requests by the page itself, and by the person."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class AccessKeys:
    """Unused tokens, and the keys that were given for used ones."""

    def __init__(self) -> None:
        self._tokens: set[str] = set()
        self._keys: list[bytes] = []

    def token(self) -> str:
        """A new token."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return token

    def key_for(self, token: str) -> str | None:
        """A key for a token, once; None for any other text."""
        if token not in self._tokens:
            return None
        self._tokens.discard(token)
        key = secrets.token_urlsafe(32)
        self._keys.append(key.encode())
        return key

    def fits(self, key: str) -> bool:
        return any(hmac.compare_digest(key.encode(), stored) for stored in self._keys)


class Guard:
    """Middleware that lets allowed requests through, and adds the headers to every answer.

    Parameters
    ----------
    port
        The studio's own port.
    """

    def __init__(self, app: App, port: int, keys: AccessKeys) -> None:
        self.app = app
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no page of ours opens a web socket
        scope["nonce"] = secrets.token_urlsafe(16)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(self._with_headers(scope, send), *refusal)
            return
        await self.app(scope, receive, self._with_headers(scope, send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and message for a request that is not allowed."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if len(headers.get("host", ())) != 1 or headers["host"][0] not in self.hosts:
            return 421, "The studio does not serve this host."
        if any(origin not in self.origins for origin in headers.get("origin", ())):
            return 403, "Another site may not use the studio."
        if any(site not in OWN for site in headers.get("sec-fetch-site", ())):
            return 403, "Another site may not use the studio."
        if scope["path"].startswith("/api/"):
            return self._refused_question(scope, headers)
        return None if scope["method"] in ("GET", "HEAD") else (405, "This can only be read.")

    def _refused_question(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        if scope["method"] != "POST":
            return 405, "Questions are posted."
        if scope["path"] == "/api/enter":
            return None
        key = headers.get("authorization", [""])[0].removeprefix("Bearer ")
        return None if self.keys.fits(key) else (401, "Open the studio by the address that its terminal shows.")

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                more = {**HEADERS, "content-security-policy": POLICY.format(nonce=scope["nonce"])}
                ours = [(name.encode(), value.encode()) for name, value in more.items()]
                others = [pair for pair in message.get("headers", ()) if pair[0].decode("latin-1").lower() not in more]
                message = {**message, "headers": [*others, *ours]}
            await send(message)

        return sending


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
