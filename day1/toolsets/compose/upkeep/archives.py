"""Archives: summaries of sessions, and files of a wallet's memory under their content ids."""

from typing import Final

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import branch_of
from day1.services.archives.archiving import sync_archive
from day1.services.archives.compressing import CompressRequest, compress
from day1.toolsets.compose.fields import ComposeRequest, Name, missing
from day1.toolsets.compose.scope import wallet_of, write_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe


class SessionCompressRequest(ComposeRequest):
    """The arguments of `sessions_compress`.

    Attributes:
        sessionId: The session, as its turns name it.
        agentWallet: The agent whose session it is.
        coordinatorModel: The model that you would like to word the summary. day1 uses the chat
            model of its settings, else rules, and says which as `summarizer`.
        userAddress: The user whose session it is. Default: it is found by its id alone.
    """

    sessionId: Name
    agentWallet: Name
    coordinatorModel: Name
    userAddress: Maybe[Name] = None


class SessionCompressResponse(Response):
    """The summary of a session."""

    summary: str
    entitiesExtracted: int
    """The number of names in the summary, which its fact lists."""
    summarizer: str
    """The chat model that worded the summary, or `rules`."""
    archiveId: str
    """The id of the fact that holds the summary."""
    written: Written


def sessions_compress(ctx: Context, request: SessionCompressRequest) -> SessionCompressResponse:
    """Summarize a session as a fact, which is hidden when one of its sources is redacted."""
    owner = Owner(wallet_of(ctx, request.agentWallet).wallet, request.userAddress)
    write_context = write_of(ctx, owner, request.sessionId)
    compressed_session = compress(
        write_context.repo,
        CompressRequest(
            write_context.branch, owner, request.sessionId, write_context.origin, ctx.chat
        ),
    )
    if compressed_session is None and request.userAddress is not None:
        raise NotFound(
            f"This user has no session {request.sessionId!r} that has words: check sessionId and "
            "userAddress.",
            sessionId=request.sessionId,
        )
    if compressed_session is None:
        raise missing(
            "sessionId", "names no session of this wallet with messages to summarize: check the id"
        )
    branch_after = compressed_session.after
    return SessionCompressResponse(
        summary=str(compressed_session.row["fact_text"]),
        entitiesExtracted=len(compressed_session.entities),
        summarizer=compressed_session.summarizer,
        archiveId=str(compressed_session.row["id"]),
        written=written(
            write_context.branch.name,
            branch_after.tip,
            branch_after.pending,
            compressed_session.notes,
        ),
    )


class ArchiveSyncRequest(ComposeRequest):
    """The arguments of `archives_sync`.

    Attributes:
        archiveId: The archive: the id that the job `archive_create` answered.
        agentWallet: The agent whose archive it is.
    """

    archiveId: Name
    agentWallet: Name


class ArchiveSyncResponse(Response):
    """The content id of an archive's file as it is handed out now."""

    ipfsHash: str
    pinned: bool
    """Whether the configured pinning service said that it keeps the file under this id."""
    bundleId: str
    """The bundle that is the file: `day1 bundle export` writes it."""
    read: Read


def archives_sync(ctx: Context, request: ArchiveSyncRequest) -> ArchiveSyncResponse:
    """Compute the content id of an archive's file, and hand it to the pinning service, if any."""
    owner, branch = wallet_of(ctx, request.agentWallet), branch_of(ctx)
    sync_result = sync_archive(ctx.repo, branch, owner, request.archiveId, ctx.pinning)
    if sync_result is None:
        raise missing(
            "archiveId",
            "names no archive of this wallet with a file: give the id that its job answered",
        )
    return ArchiveSyncResponse(
        ipfsHash=sync_result.cid,
        pinned=sync_result.pinned,
        bundleId=sync_result.bundle_id,
        read=read_of(sync_result.state, branch.name, *sync_result.notes),
    )


OPERATIONS: Final = (
    Operation("archives_sync", archives_sync, Effect.WRITE, idempotent=True),
    Operation("sessions_compress", sessions_compress, Effect.WRITE, idempotent=True),
)
