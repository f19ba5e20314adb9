"""The paths of Compose, below /api/memory, with the operation that each one calls."""

from typing import Final

from day1.call.toolset import Binding, Route

PREFIX: Final = "/api/memory"
_WHOSE: Final = {"agentWallet": "agentWallet", "userAddress": "userAddress"}
"""Query parameters that name the owner of the rows."""
_WHOSE_DEVICE: Final = {**_WHOSE, "scope": "scope", "haiId": "haiId"}
_WALLETS: Final = {"agentWallets": "agentWallets"}
"""The query parameter that lists agents."""


def _queried(*names: str) -> dict[str, str]:
    """Bind arguments to the query parameters of the same name."""
    return {name: name for name in names}


def _post(path: str, operation: str, only: str | None = None) -> Route:
    return Route("POST", path, 200, Binding(operation, only=only))


def _item(method: str, operation: str, **query: str) -> Route:
    """Build a route to one item; the OpenAPI document describes the id once for all such routes."""
    parameters = {"id": "MemoryItemId"}
    return Route(method, "/items/{id}", 200, Binding(operation, query=query), parameters=parameters)


ROUTES: Final = (
    _post("/context/assemble", "context_assemble"),
    _post("/turns/record", "turn_record"),
    _post("/remember", "remember"),
    _post("/loop", "loop"),
    Route("GET", "/loops", 200, Binding("loops_list")),
    Route("GET", "/loops/{loopId}", 200, Binding("loops_get")),
    _post("/add", "graph_add", only="result"),
    _post("/search", "graph_search", only="result"),
    Route(
        "GET",
        "/{agentWallet}",
        200,
        Binding("list", query=_queried("userAddress", "scope", "haiId", "limit"), only="result"),
    ),
    _post("/vector-search", "vector_search"),
    _post("/vector-index", "vector_index"),
    _post("/transcript-store", "transcript_store"),
    Route(
        "GET",
        "/transcript-get/{id}",
        200,
        Binding("transcript_get", query={"type": "type", **_WHOSE_DEVICE}),
    ),
    _post("/transcripts/index", "transcripts_index"),
    Route(
        "GET",
        "/sessions/{sessionId}/working",
        200,
        Binding("sessions_working_get", query=_WHOSE_DEVICE),
    ),
    Route("PATCH", "/sessions/{sessionId}/working", 200, Binding("sessions_working_update")),
    _post("/rerank", "rerank"),
    _post("/layers/search", "layers_search"),
    Route("GET", "/stats/{agentWallet}", 200, Binding("stats_get")),
    _post("/items/search", "items_search"),
    _item("GET", "items_get", includeEmbedding="includeEmbedding", **_WHOSE_DEVICE),
    _item("PATCH", "items_update"),
    _item("DELETE", "items_delete", hardDelete="hardDelete", **_WHOSE_DEVICE),
    Route(
        "POST",
        "/conflicts/{id}/resolve",
        200,
        Binding("conflicts_resolve"),
        parameters={"id": "MemoryItemId"},
    ),
    _post("/evals/runs", "evals_run"),
    Route(
        "GET",
        "/patterns",
        200,
        Binding(
            "patterns_list",
            query=_queried("agentWallet", "patternType", "minSuccessRate", "limit"),
        ),
    ),
    Route(
        "GET",
        "/patterns/{patternId}",
        200,
        Binding("patterns_get", query=_queried("agentWallet")),
    ),
    Route(
        "POST",
        "/patterns/{patternId}/validate",
        200,
        Binding("patterns_validate", query=_queried("agentWallet"), only="validation"),
    ),
    _post("/patterns/{patternId}/promote", "patterns_promote"),
    Route(
        "GET",
        "/skills",
        200,
        Binding("skills_list", query=_queried("agentWallet", "category", "limit")),
    ),
    Route("GET", "/skills/{skillId}", 200, Binding("skills_get", query=_queried("agentWallet"))),
    _post("/jobs", "jobs_create"),
    Route("GET", "/jobs/{jobId}", 200, Binding("jobs_get")),
    Route("GET", "/schedules", 200, Binding("schedules_list", query=_WALLETS)),
    _post("/schedules", "schedules_create"),
    Route("DELETE", "/schedules", 200, Binding("schedules_delete", query=_WALLETS)),
    _post("/schedules/{scheduleId}/pause", "schedules_pause"),
    _post("/schedules/{scheduleId}/resume", "schedules_resume"),
    _post("/schedules/{scheduleId}/trigger", "schedules_trigger"),
    _post("/sessions/{sessionId}/compress", "sessions_compress"),
    _post("/archives/{archiveId}/sync", "archives_sync"),
)
