"""Every setting, with its default and unit; the environment is read here and nowhere else.

`DAY1_HOME=/srv/memory`, `DAY1_EMBEDDER__MODEL_DIR=…`: a section and its field are divided by
two underscores. A variable that is set to nothing counts as not set.
"""

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, IPvAnyNetwork, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from day1.home import Named


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(_Section):
    """The versioned store."""

    url: Annotated[
        SecretStr | None,
        Field(
            description="A database on a Dolt or MatrixOne server: "
            "mysql+pymysql://USER:PASSWORD@HOST:3306/DATABASE; default: the store's folder."
        ),
    ] = None
    wait_s: Annotated[
        float, Field(gt=0, le=600, description="Seconds to wait for another writer.")
    ] = 10.0
    compact: Annotated[
        bool, Field(description="Let an idle server give back unused space if that is brief.")
    ] = True


class EmbedderSettings(_Section):
    """The embedder, which makes the vectors."""

    kind: Annotated[
        Literal["minilm", "openai", "none"],
        Field(
            description="minilm: a local model; openai: an OpenAI-compatible endpoint; none: "
            "search by words only."
        ),
    ] = "minilm"
    model_dir: Annotated[
        Path | None,
        Field(
            description="Folder with model and tokenizer; default: where `day1 model install` "
            "or Chroma put them."
        ),
    ] = None
    weights: Annotated[
        Literal["int8", "float32"],
        Field(
            description="Numbers of the local model. int8: as integers, in a third to half of the "
            "time; float32: as published. Vectors of both may stand in one index."
        ),
    ] = "int8"
    threads: Annotated[
        int | None,
        Field(ge=1, le=256, description="Threads of the local model; default: one per core."),
    ] = None
    url: Annotated[str | None, Field(description="Base address of the endpoint.")] = None
    model: Annotated[str | None, Field(description="The endpoint's model name.")] = None
    key: Annotated[SecretStr, Field(description="The endpoint's key.")] = SecretStr("")
    dimension: Annotated[int | None, Field(ge=1, le=65_536, description="Vector length.")] = None


class SearchSettings(_Section):
    """The ranking of hits, and the limits of a search."""

    exact_rows: Annotated[
        int,
        Field(
            ge=0, description="Up to this many visible rows, search compares all vectors exactly."
        ),
    ] = 20_000
    vector_weight: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Weight of the vector score in the hybrid score; words have the rest.",
        ),
    ] = 0.7
    bm25_half: Annotated[
        float, Field(gt=0, description="The BM25 at which the score of the words is one half.")
    ] = 8.0
    words_boost: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How far most words of a question in one place lift a score towards 1.",
        ),
    ] = 0.4
    words_half: Annotated[
        float, Field(gt=0, description="The BM25 at which that lift is one half of it.")
    ] = 16.0
    beside_boost: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How far the vector score of a memory written just before or after lifts "
            "this one's towards 1.",
        ),
    ] = 0.3
    passage_discount: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="The best of n passages of a text loses so much of its vector score, "
            "times ln n.",
        ),
    ] = 0.03
    neighbour_shares: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...],
        Field(
            max_length=8,
            description="What a word of the question counts that a memory lacks and the one "
            "written just before or after has, then the next but one; []: nothing.",
        ),
    ] = (0.8, 0.6)
    neighbour_words: Annotated[
        int,
        Field(
            ge=0,
            description="A memory of more words gets less of its neighbours' words: the square "
            "root of this number divided by its own.",
        ),
    ] = 30
    beside_words: Annotated[
        int,
        Field(ge=0, description="Likewise for the vector score of a memory just before or after."),
    ] = 40
    length_boost: Annotated[
        float,
        Field(ge=0, le=1, description="How far 40 words or more lift a score towards 1."),
    ] = 0.1
    subject_boost: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How far a score is lifted towards 1 where the memory opens with a name "
            "that the question has.",
        ),
    ] = 0.25
    date_boost: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How far a score is lifted towards 1 where the memory is of the date that "
            "the question names.",
        ),
    ] = 0.3
    question_discount: Annotated[
        float,
        Field(ge=0, le=1, description="The part of its score that a memory loses as a question."),
    ] = 0.1
    question_words: Annotated[
        int,
        Field(ge=0, description="A question of more words loses nothing, except by words alone."),
    ] = 30
    pending_cosine: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]],
        Field(
            description="The vector score to expect of a memory that has no vector yet: a base, "
            "and a part of its keyword score.",
        ),
    ] = (0.1, 0.4)
    whole_characters: Annotated[
        int, Field(ge=200, description="Up to this many characters an answer has a whole text.")
    ] = 1_000
    passage_characters: Annotated[
        int, Field(ge=160, description="The most characters of the passage of a longer text.")
    ] = 800
    passages_characters: Annotated[
        int, Field(ge=0, description="The most of all passages of an answer; each may have 160.")
    ] = 2_000
    embed_ms: Annotated[
        int,
        Field(
            ge=0,
            description="While vectors are missing, a search of a server makes some for at most "
            "so many milliseconds, or none at 0; the rest is made between calls.",
        ),
    ] = 20
    chroma: Annotated[bool, Field(description="Let a server keep a Chroma collection.")] = True


class IndexSettings(_Section):
    """The Chroma server that holds the index of a large store."""

    chroma_url: Annotated[
        str | None,
        Field(description="A Chroma server, as http://HOST:8000; default: Chroma's own files."),
    ] = None
    chroma_token: Annotated[
        SecretStr, Field(description="Bearer token for the Chroma server, if it needs one.")
    ] = SecretStr("")


class PrimeSettings(_Section):
    """The prime: the text with which a session begins."""

    chars: Annotated[
        int,
        Field(
            ge=400,
            le=20_000,
            description="The most characters that `day1 prime`, its resource and its file have.",
        ),
    ] = 1_200


class WriteSettings(_Section):
    """Limits and checks of the texts that are written."""

    raw_characters: Annotated[
        int,
        Field(
            ge=100,
            le=1_000_000,
            description="Length at which raw_input and raw_output are cut, in characters.",
        ),
    ] = 4_000
    secrets: Annotated[
        Literal["warn", "refuse", "ignore"],
        Field(description="What a write does with a text that looks like a secret."),
    ] = "warn"


class ChatSettings(_Section):
    """The chat model, which judges facts and words consolidated ones."""

    url: Annotated[
        str | None, Field(description="Base address of an OpenAI-compatible endpoint.")
    ] = None
    model: Annotated[str | None, Field(description="The endpoint's model name.")] = None
    key: Annotated[SecretStr, Field(description="The endpoint's key.")] = SecretStr("")
    timeout_s: Annotated[
        float, Field(gt=0, le=600, description="Seconds that one answer may take.")
    ] = 60.0
    tries: Annotated[
        int, Field(ge=1, le=10, description="How often day1 asks a busy endpoint.")
    ] = 3


class HttpSettings(_Section):
    """The HTTP server: `day1 serve`."""

    host: Annotated[
        str, Field(description="Address to listen on; any but loopback needs a token.")
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    ] = 8420
    names: Annotated[
        tuple[str, ...],
        Field(description='Public names of the server, as JSON: ["memory.example.org"].'),
    ] = ()
    trusted_proxies: Annotated[
        tuple[IPvAnyNetwork, ...],
        Field(
            description="Addresses or networks of proxies whose X-Forwarded-For is believed, "
            'as JSON: ["127.0.0.1"].'
        ),
    ] = ()
    rate: Annotated[
        float, Field(ge=0, description="Requests a second that one token may make; 0: any number.")
    ] = 200.0
    body_bytes: Annotated[
        int, Field(ge=1_024, le=1_073_741_824, description="The longest request body.")
    ] = 4_194_304
    sse: Annotated[bool, Field(description="Also serve MCP's older transport at /sse.")] = False
    grace_s: Annotated[
        float,
        Field(
            ge=0, le=600, description="Seconds that running calls may take when the server stops."
        ),
    ] = 10.0


def _command(text: str) -> str:
    """Check that a text is a command of one word or more.

    Raises:
        ValueError: the text has no word, or a quote is not closed.
    """
    if not shlex.split(text):
        raise ValueError("it names no command")
    return text


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix="DAY1_",
        env_nested_delimiter="__",
        env_ignore_empty=True,  # `NAME=` in a file of settings means the default
        frozen=True,
        extra="ignore",
    )

    home: Annotated[
        Path | None,
        Field(
            description="The store's folder; default: the nearest .day1 upward, else the "
            "repository's (`day1 where` says which, and why). For a store on a server: this "
            "machine's own folder; default: one in the user's cache."
        ),
    ] = None
    branch: Annotated[str | None, Field(description="The branch on which a process starts.")] = None
    space: Annotated[
        str | None,
        Field(
            description="The space of calls that name none, such as project:metal; default: all "
            "spaces, and new memories have none."
        ),
    ] = None
    agent_id: Annotated[str | None, Field(description="The agent that writes.")] = None
    session_id: Annotated[str | None, Field(description="The session of the writes.")] = None
    task_id: Annotated[str | None, Field(description="The task of the writes.")] = None
    notify: Annotated[
        Annotated[str, AfterValidator(_command)] | None,
        Field(
            description="A command that a server runs when something begins to wait for a person: "
            "a program and its arguments, quoted as for a shell; no shell runs it (reviews.md)."
        ),
    ] = None
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        Field(description="The lowest level that is logged; logs go to stderr."),
    ] = "WARNING"
    kill_at: Annotated[
        str | None, Field(description="Tests only: the named point at which the process is killed.")
    ] = None
    store: StoreSettings = StoreSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    search: SearchSettings = SearchSettings()
    index: IndexSettings = IndexSettings()
    prime: PrimeSettings = PrimeSettings()
    write: WriteSettings = WriteSettings()
    chat: ChatSettings = ChatSettings()
    http: HttpSettings = HttpSettings()
    project: Annotated[
        Literal["repository", "origin"],
        Field(
            description="What shares one store: repository, with its worktrees and subfolders; or "
            "origin: all clones of one remote `origin`, in the user's data folder."
        ),
    ] = "repository"
    judge: Annotated[
        Literal["auto", "rules", "chat"],
        Field(description="Who judges facts; auto: the chat model, if there is one."),
    ] = "auto"

    @property
    def named(self) -> Named:
        """The settings that decide which store is used."""
        url = self.store.url
        return Named(self.home, None if url is None else url.get_secret_value(), self.project)

    @property
    def told(self) -> dict[str, Any]:
        """The settings that an agent may read: no key, no address and no folder."""
        sections = {"embedder": self.embedder, "chat": self.chat, "search": self.search}
        return {name: _told(section) for name, section in sections.items()} | {"judge": self.judge}


def _told(section: _Section) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in section:
        if isinstance(value, SecretStr):
            values["has_api_key"] = bool(value.get_secret_value())
        elif name == "url":
            values["has_url"] = value is not None
        elif not isinstance(value, Path):
            values[name] = list(value) if isinstance(value, tuple) else value
    return {name: value for name, value in values.items() if name != "model_dir"}


def settings_at(settings: Settings, where: str) -> Settings:
    """Return the settings for the store at an address: a server's URL, or a folder."""
    url = SecretStr(where) if "://" in where else None
    home = None if url else Path(where).expanduser().absolute()
    store = settings.store.model_copy(update={"url": url})
    return settings.model_copy(update={"home": home, "store": store})
