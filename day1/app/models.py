"""Make embedders, chat models, judges and pinning services: fulfils the commands' `Models`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from day1.adapters.embedders.install import find as find_model
from day1.adapters.embedders.install import install as install_from
from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.embedders.model_folder import lacking
from day1.adapters.judges.rules_judge import RulesJudge
from day1.errors import EmbedderUnavailable, InvalidRequest
from day1.home import cache_folder
from day1.settings import ChatSettings, EmbedderSettings, PinningSettings, Settings

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.embedder import Embedder
    from day1.ports.judge import Judge
    from day1.ports.pinning import Pinning


def embedder(settings: EmbedderSettings) -> Embedder | None:
    """Make the embedder that the settings name; it loads its model when it is first used.

    Raises:
        EmbedderUnavailable: an endpoint is chosen, and its address or model is missing.
    """
    if settings.kind == "none":
        return None
    if settings.kind == "openai":
        from day1.adapters.embedders.openai import OpenAiEmbedder

        if settings.url is None or settings.model is None:
            raise EmbedderUnavailable(
                "The endpoint needs DAY1_EMBEDDER__URL and DAY1_EMBEDDER__MODEL."
            )
        return OpenAiEmbedder(
            settings.url,
            settings.model,
            key=settings.key.get_secret_value(),
            dimension=settings.dimension,
        )
    return MiniLm(
        partial(find_model, settings.model_dir, _model_folders()),
        threads=settings.threads,
        weights=settings.weights,
    )


def chat(settings: ChatSettings) -> Chat | None:
    """Make the chat model that the settings name; None if they name none.

    Raises:
        InvalidRequest: the settings name an address without a model, or a model without one.
    """
    if settings.url is None and settings.model is None:
        return None
    if settings.url is None or settings.model is None:
        raise InvalidRequest("A chat model needs DAY1_CHAT__URL and DAY1_CHAT__MODEL.")
    from day1.adapters.chat.openai import OpenAiChat

    return OpenAiChat(
        settings.url,
        settings.model,
        key=settings.key.get_secret_value(),
        timeout_s=settings.timeout_s,
        tries=settings.tries,
    )


def pinning(settings: PinningSettings) -> Pinning | None:
    """Make the service that keeps the files of archives, such as IPFS; None if none is named.

    Raises:
        InvalidRequest: its address is not http or https.
    """
    if settings.url is None:
        return None
    from day1.adapters.pinning import HttpPinning

    key = settings.key.get_secret_value()
    return HttpPinning(settings.url, key=key, timeout_s=settings.timeout_s)


def judge(settings: Settings, chat: Chat | None) -> Judge:
    """Choose the judge that the settings name.

    Raises:
        InvalidRequest: the judge needs a chat model, and the settings name none.
    """
    if settings.judge == "rules" or (settings.judge == "auto" and chat is None):
        return RulesJudge()
    if chat is None:
        raise InvalidRequest("DAY1_JUDGE=chat needs DAY1_CHAT__URL and DAY1_CHAT__MODEL.")
    from day1.adapters.judges.chat import ChatJudge

    return ChatJudge(chat, RulesJudge())


def place(settings: EmbedderSettings) -> str | None:
    """Return the embedding model's folder or address; None if there is none."""
    if settings.kind == "none":
        return None
    if settings.kind == "openai":
        return settings.url
    folder = find_model(settings.model_dir, _model_folders())
    return None if folder is None or lacking(folder) is not None else str(folder)


def install(
    settings: EmbedderSettings, path: Path | None, report: Callable[[str], None]
) -> Path | None:
    """Install the model from `path`, else by download; None if neither works."""
    return install_from(settings.model_dir or _own_model_folder(), given=path, report=report)


def _model_folders() -> list[Path]:
    """Return the folders to search for a model if no setting names one: Chroma's, then day1's."""
    chroma_folder = Path.home() / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    return [chroma_folder, _own_model_folder()]


def _own_model_folder() -> Path:
    """Return the folder into which `day1 model install` writes if no setting names one."""
    return cache_folder() / "day1" / "models" / "minilm-l6-v2"
