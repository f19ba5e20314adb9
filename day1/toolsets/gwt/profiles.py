"""Answers about the caller's memory and workspace, and about the parts that they need."""

from typing import Any, Final

from day1.call.context import Context
from day1.errors import Day1Error
from day1.model.files.item_lines import MOST_BYTES
from day1.model.values.parts import MAX_TEXT
from day1.model.workspace.bus import BusResult, summary_of
from day1.model.workspace.mind import BUFFER, GOALS, SLOTS
from day1.model.workspace.mind import MOST_BYTES as MOST_MIND_BYTES
from day1.services.workspace.bus import SUBSCRIBERS
from day1.services.workspace.desks import seat_of
from day1.services.workspace.upkeep.profiling import Profile, Subject, check_readiness, profile_of
from day1.toolsets.gwt.fields import EmbeddingShown, MemoryProfile, ReadinessShown, stats_shown
from day1.toolsets.gwt.files import file_sizes, namespace_of
from day1.toolsets.gwt.rounds import asked_by
from day1.toolsets.shared.answers import read_of

_MOST_FIELDS: Final = 50
_POLICY: Final[dict[str, int | str]] = {
    "workspace_places": SLOTS,
    "buffer_places": BUFFER,
    "goals_kept": GOALS,
    "workspace_bytes": MOST_MIND_BYTES,
    "item_characters": MAX_TEXT,
    "export_bytes": MOST_BYTES,
    "removed_items": "history keeps them: a revert brings them back",
}
"""The limits in force."""


def profile(ctx: Context) -> MemoryProfile:
    """Count what the caller's memory and workspace hold."""
    profile_subject = _subject(ctx)
    branch_name, profile_totals = profile_subject.seat.branch.name, profile_of(profile_subject)
    namespace = namespace_of(ctx, branch_name)
    return MemoryProfile(
        status="ok",
        namespace=namespace,
        data_dir=namespace.data_dir,
        embedding=_embedding(ctx),
        persisted_item_count=profile_totals.persisted.count,
        runtime_index_count=profile_totals.indexed,
        structured_record_count=len(profile_totals.collection.records),
        structured_fields=list(profile_totals.collection.names[:_MOST_FIELDS]),
        counts_by_type=dict(profile_totals.persisted.by_type),
        counts_by_source=dict(profile_totals.persisted.by_source),
        file_sizes=file_sizes(ctx),
        restored_runtime_items=profile_totals.restored,
        cycle_stats=stats_shown(profile_totals.mind),
        retention_policy=_POLICY,
        read=read_of(profile_totals.persisted.state, branch_name),
    )


def readiness(ctx: Context) -> ReadinessShown:
    """Check all parts, and answer which ones work."""
    profile_subject = _subject(ctx)
    branch_name, readiness_result = (
        profile_subject.seat.branch.name,
        check_readiness(profile_subject),
    )
    return ReadinessShown(
        status="degraded" if readiness_result.problems else "ready",
        checks=dict(readiness_result.checks),
        problems=dict(readiness_result.problems),
        namespace=namespace_of(ctx, branch_name),
        embedding=_embedding(ctx),
        counts=_counts(readiness_result.profile),
        broadcast_bus=_bus(readiness_result.bus),
        file_sizes=file_sizes(ctx),
        restored_runtime_items=readiness_result.profile.restored,
        read=read_of(readiness_result.profile.persisted.state, branch_name),
    )


def _subject(ctx: Context) -> Subject:
    return Subject(ctx, ctx.search, seat_of(ctx), asked_by(ctx))


def _embedding(ctx: Context) -> EmbeddingShown:
    embedder_settings: Any = ctx.configuration.get("embedder", {})
    provider, embedder = str(embedder_settings.get("kind", "none")), ctx.search.embedder
    try:
        if embedder is not None:
            return EmbeddingShown(provider=provider, model=embedder.name, dim=embedder.dimension)
    except Day1Error:  # an endpoint that does not answer tells no dimension
        pass
    return EmbeddingShown(provider=provider, model=None, dim=None)


def _counts(totals: Profile) -> dict[str, int]:
    return {
        "persisted_items": totals.persisted.count,
        "runtime_index_items": totals.indexed,
        "structured_records": len(totals.collection.records),
        "workspace_occupied": len(totals.mind.workspace),
        "workspace_capacity": SLOTS,
        "buffer_size": len(totals.mind.buffer),
        "broadcasts": totals.mind.cycles,
        "active_goals": int(totals.mind.goal is not None),
    }


def _bus(result: BusResult | None) -> dict[str, Any]:
    last_broadcast = {} if result is None else summary_of(result)
    return {"configured": bool(SUBSCRIBERS), "subscribers": list(SUBSCRIBERS), **last_broadcast}
