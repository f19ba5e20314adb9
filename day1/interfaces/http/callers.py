"""The caller of an HTTP request: the access of the token, and names in headers or `_meta`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from cachetools import LRUCache
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.requests import HTTPConnection
from starlette.types import Scope

from day1.call.context import Context
from day1.interfaces.heads import LedgerHead, ProcessHead, said_in, spaced
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import NOTHING, Access
from day1.model.branches.branch import MAIN
from day1.model.rows.origin import SourceName, named
from day1.services.access.caller import Caller, Head

ACCESS: Final = "day1.access"
"""Key of the ASGI scope for the access that the request's token grants."""
SESSION: Final = "mcp-session-id"
"""The header with the id of a session of MCP's 2025 protocol."""
_HEADS: Final = 10_000
"""Maximum number of sessions of one token whose HEAD is remembered: as many as can be open at
once."""


class Callers:
    """Builds the context of each call from its HTTP request; a server has one."""

    def __init__(self, store: OpenStore, called: Callable[[], None]) -> None:
        """Serve one memory; `called` is called when a call begins."""
        self.store = store
        self._called = called
        self._guard = threading.Lock()
        self._heads: dict[str | None, LRUCache[str, ProcessHead]] = {}
        """HEADs by token and session: no token can move or push out those of another."""

    def context(
        self,
        request: HTTPConnection,
        meta: Mapping[str, Any] | None = None,
        source: SourceName = "agent",
    ) -> Context:
        """Build the context of one call.

        Raises:
            Forbidden: the token is bound to another agent than the call names.
            InvalidRequest: the name of an agent or session in a header is malformed.
        """
        self._called()
        access = access_of(request)

        def name_in_request(key: str) -> str | None:
            header = f"day1-{key.replace('_', '-')}"
            return said_in(meta, key) or named(header_text(request, header), f"The header {header}")

        client = name_in_request("client")
        caller = Caller(
            agent_id=access.writes_as(name_in_request("agent_id")),
            session_id=name_in_request("session_id"),
            task_id=name_in_request("task_id"),
            source=source,
            branch=name_in_request("branch"),
            space=spaced(name_in_request("space") or self.store.settings.space),
            head=self._head(request, access, client),
            access=access,
            client=client or request.headers.get(SESSION),
        )
        return self.store.context(caller)

    def _head(self, request: HTTPConnection, access: Access, client: str | None) -> Head | None:
        """Return the HEAD of the client's session; without a session, of its token and name."""
        session_id = request.headers.get(SESSION)
        if session_id is not None:
            with self._guard:
                heads = self._heads.setdefault(access.token_id, LRUCache(_HEADS))
                head = heads.get(session_id)
            if head is None:
                new_head = ProcessHead(self.store.repo, access.home or MAIN)  # asks the ledger
                with self._guard:
                    head = heads.setdefault(session_id, new_head)
            return head
        if access.token_id is None and client is None:
            return None
        return LedgerHead(self.store.repo, f"{access.token_id or 'open'}/{client or ''}")


def header_text(request: HTTPConnection, name: str) -> str | None:
    """Read a header as UTF-8, since names may be in any script, or else as Latin-1."""
    header = request.headers.get(name)
    try:
        return None if header is None else header.encode("latin-1").decode()
    except UnicodeDecodeError:
        return header


def let_in(scope: Scope, access: Access) -> None:
    """Put the access of a request's token into its scope, for `access_of` and for the SDK."""
    scope[ACCESS] = access
    if access.token_id is not None:  # the SDK ties MCP sessions to this user
        token = AccessToken(token="", client_id=access.token_id, scopes=[access.scope])
        scope["user"] = AuthenticatedUser(token)


def access_of(request: HTTPConnection) -> Access:
    """Return what the request's token allows; the middleware has put it into the scope."""
    access: Access = request.scope.get(ACCESS, NOTHING)
    return access
