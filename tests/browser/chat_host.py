"""A client with a chat, as the extension `io.modelcontextprotocol/ui` asks of it (SEP-1865).

The page is the host. It shows the document of a tool in a frame of no origin, under the policy that
the extension prescribes, and passes its calls to a real server, as a client would.
"""

from typing import Any, Final

from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError
from playwright.sync_api import Browser, Frame, Locator, Route, expect

from day1.interfaces.mcp.apps import EXTENSION, HTML, REVIEW
from tests.browser.page_visit import Visit
from tests.wires.mcp_session import Session

ADDRESS: Final = "http://chat.example"
KNOWS: Final = advertise(EXTENSION, {"mimeTypes": [HTML]})
SERVED: Final[dict[str, Any]] = {"serverTools": {}, "serverResources": {}, "logging": {}}

_PAGE = """<!doctype html><html><head><title>Chat</title><style>
body { margin: 0; font: 16px sans-serif } iframe { width: 100%; border: 0; display: block }
</style></head><body><p>You: Show me the review.</p></body></html>"""
_HOST = """({ html, capabilities, context, input, result }) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.srcdoc = html;
  frame.title = "A tool's view";
  const heard = (window.heard = []);
  const answers = (window.answers = []);
  window.say = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", async ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    heard.push(data);
    const { id, method, params } = data;
    if (method === undefined) return answers.push(data);
    if (method === "ui/initialize") {
      const hostInfo = { name: "chat", version: "1" };
      const told = { protocolVersion: "2026-01-26", hostInfo, hostCapabilities: capabilities, hostContext: context };
      say({ id, result: told });
    } else if (method === "ui/notifications/initialized") {
      say({ method: "ui/notifications/tool-input", params: { arguments: input } });
      if (result) say({ method: "ui/notifications/tool-result", params: result });
    } else if (method === "ui/notifications/size-changed") {
      frame.style.height = `${params.height}px`;
    } else if (method === "tools/call") {
      say({ id, ...(await callTool(params)) });
    } else if (method === "ui/update-model-context") {
      say({ id, result: {} });
    } else if (id !== undefined) {
      say({ id, error: { code: -32601, message: "Method not found" } });
    }
  });
  document.body.append(frame);
}"""


class Chat(Visit):
    """One chat with the view of one call in it."""

    def __init__(self, browser: Browser, agent: Session, **options: Any) -> None:
        """Connect a browser's page to a client of a server."""
        super().__init__(browser, ADDRESS, **options)
        self.agent = agent
        self.host = _HOST
        """The function of the page that shows a view."""
        self.refuses: str | None = None
        """Why the person lets no call through, if so."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """What the view called."""
        self.context.route(f"{ADDRESS}/", self._served)
        self.page.goto(ADDRESS)
        self.page.expose_function("callTool", self._call)

    @staticmethod
    def _served(route: Route) -> None:
        route.fulfill(body=_PAGE, content_type="text/html")

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((params["name"], params["arguments"]))
        if self.refuses is not None:
            return {"error": {"code": -32000, "message": self.refuses}}
        try:
            return {"result": self.agent.raw("tools/call", **params)}
        except MCPError as exc:
            return {"error": {"code": exc.error.code, "message": exc.error.message}}

    def show(self, tool: str, /, **arguments: Any) -> None:
        """The model calls a tool, and its view is shown; waits until it stands."""
        self.begin(self.agent.raw("tools/call", name=tool, arguments=arguments), arguments)
        expect(self.main).to_have_attribute("aria-busy", "false")

    def begin(
        self,
        result: dict[str, Any] | None,
        arguments: dict[str, Any],
        capabilities: dict[str, Any] = SERVED,
        **context: Any,
    ) -> None:
        """Show the view of a call with this result, in this context."""
        (content,) = self.agent.raw("resources/read", uri=REVIEW)["contents"]
        assert content["mimeType"] == HTML
        asked = {
            "html": _ruled(content["text"], content["_meta"]["ui"]["csp"]),
            "capabilities": capabilities,
            "context": context,
            "input": arguments,
            "result": result,
        }
        self.page.evaluate(self.host, asked)
        expect(self.page.locator("iframe")).to_be_visible()

    @property
    def frame(self) -> Frame:
        """The view."""
        return self.page.frames[1]

    @property
    def main(self) -> Locator:
        """What it shows."""
        return self.page.frame_locator("iframe").locator("main")

    def says(self, text: str) -> None:
        expect(self.main).to_contain_text(text)

    def say(self, **message: Any) -> None:
        """The host says something."""
        self.page.evaluate("(message) => say(message)", message)

    def heard(self, method: str) -> list[dict[str, Any]]:
        """What the view said of a kind, oldest first."""
        every: list[dict[str, Any]] = self.page.evaluate("heard")
        return [said.get("params", {}) for said in every if said.get("method") == method]

    def check(self) -> None:
        """The view did nothing that its policy stopped, either."""
        super().check()
        for frame in self.page.frames[1:]:
            assert frame.evaluate("window.violations ?? []") == []

    def fits(self) -> None:
        """The frame is as high as the view, and nobody scrolls in it."""
        self.page.wait_for_timeout(100)
        wide, room, high, shown = self.frame.evaluate(
            "(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>"
            " [scrollWidth, clientWidth, scrollHeight, clientHeight])(document.documentElement)"
        )
        assert wide <= room
        assert high <= shown


def _ruled(html: str, csp: dict[str, list[str]]) -> str:
    """A document under the policy that a host makes of what its server declares."""
    assert set(csp) == {"connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"}
    assert not any(csp.values()), "the view asks nobody for anything"
    rules = (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'none'; img-src 'self' data:; font-src 'self'; media-src 'self' data:; "
        "frame-src 'none'; object-src 'none'; base-uri 'self'"
    )
    ruled = f'<head><meta http-equiv="Content-Security-Policy" content="{rules}">'
    assert html.count("<head>") == 1
    return html.replace("<head>", ruled)
