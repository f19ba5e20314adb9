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
from day1.model.rows.origin import Name


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(_Section):
    """The versioned store."""

    url: SecretStr | None = Field(
        None,
        description="A database on a Dolt or MatrixOne server: "
        "mysql+pymysql://USER:PASSWORD@HOST:3306/DATABASE; default: the store's folder.",
    )
    wait_s: float = Field(
        10.0,
        gt=0,
        le=600,
        description="Seconds to wait for another writer; up to 4 times as many for a compaction.",
    )
    cache_mb: int = Field(
        128,
        ge=16,
        le=65_536,
        description="MB of a folder's pages that all connections of a process keep together.",
    )
    answer_bytes: int = Field(
        268_435_456,
        ge=8_388_608,
        description="The most bytes of JSON values that one call answers.",
    )
    compact: bool = Field(
        default=True,
        description="Let a server give back unused space if that takes at most 3 times `wait_s`.",
    )


class EmbedderSettings(_Section):
    """The embedder, which makes the vectors."""

    kind: Literal["minilm", "openai", "none"] = Field(
        "minilm",
        description="minilm: a local model; openai: an OpenAI-compatible endpoint; none: "
        "search by words only.",
    )
    model_dir: Path | None = Field(
        None,
        description="Folder with model and tokenizer; default: where `day1 model install` "
        "or Chroma put them.",
    )
    weights: Literal["int8", "float32"] = Field(
        "int8",
        description="Numbers of the local model. int8: as integers, in a third to half of the "
        "time; float32: as published. Vectors of both may stand in one index.",
    )
    threads: int | None = Field(
        None, ge=1, le=256, description="Threads of the local model; default: one per core."
    )
    url: str | None = Field(None, description="Base address of the endpoint.")
    model: str | None = Field(None, description="The endpoint's model name.")
    key: Annotated[SecretStr, Field(description="The endpoint's key.")] = SecretStr("")
    dimension: int | None = Field(None, ge=1, le=65_536, description="Vector length.")


class SearchSettings(_Section):
    """The ranking of hits, and the limits of a search."""

    exact_rows: int = Field(
        20_000,
        ge=0,
        description="Up to this many visible rows, search compares all vectors exactly.",
    )
    chroma_rows: int = Field(
        200_000, ge=0, description="Above this many vectors, a store has Chroma's own files."
    )
    vector_weight: float = Field(
        0.7, ge=0, le=1, description="Weight of the vector score; that of words has the rest."
    )
    bm25_half: float = Field(
        8.0, gt=0, description="The BM25 at which the score of the words is one half."
    )
    words_boost: float = Field(
        0.4,
        ge=0,
        le=1,
        description="How far most words of a question in one place lift a score towards 1.",
    )
    words_half: float = Field(
        16.0, gt=0, description="The BM25 at which that lift is one half of it."
    )
    beside_boost: float = Field(
        0.3,
        ge=0,
        le=1,
        description="How far the vector score of a memory written just before or after lifts "
        "this one's towards 1.",
    )
    passage_discount: float = Field(
        0.03,
        ge=0,
        le=1,
        description="The best of n passages of a text loses so much of its vector score, "
        "times ln n.",
    )
    neighbour_shares: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        (0.8, 0.6),
        max_length=8,
        description="What a word of the question counts that a memory lacks and the one "
        "written just before or after has, then the next but one; []: nothing.",
    )
    neighbour_words: int = Field(
        30,
        ge=0,
        description="A memory of more words gets less of its neighbours' words: the square "
        "root of this number divided by its own.",
    )
    beside_words: int = Field(
        40, ge=0, description="Likewise for the vector score of a memory just before or after."
    )
    length_boost: float = Field(
        0.1, ge=0, le=1, description="How far 40 words or more lift a score towards 1."
    )
    subject_boost: float = Field(
        0.25,
        ge=0,
        le=1,
        description="How far a score is lifted towards 1 where the memory opens with a name "
        "that the question has.",
    )
    date_boost: float = Field(
        0.3,
        ge=0,
        le=1,
        description="How far a score is lifted towards 1 where the memory is of the date that "
        "the question names.",
    )
    question_discount: float = Field(
        0.1, ge=0, le=1, description="The part of its score that a memory loses as a question."
    )
    question_words: int = Field(
        30, ge=0, description="A question of more words loses nothing, except by words alone."
    )
    pending_cosine: tuple[
        Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]
    ] = Field(
        (0.1, 0.4),
        description="The vector score to expect of a memory that has no vector yet: a base, "
        "and a part of its keyword score.",
    )
    whole_characters: int = Field(
        1_000, ge=200, description="Up to this many characters an answer has a whole text."
    )
    passage_characters: int = Field(
        800, ge=160, description="The most characters of the passage of a longer text."
    )
    passages_characters: int = Field(
        2_000, ge=0, description="The most of all passages of an answer; each may have 160."
    )
    embed_ms: int = Field(
        20,
        ge=0,
        description="While vectors are missing, a search of a server makes some for at most "
        "so many milliseconds, or none at 0; the rest is made between calls.",
    )
    chroma: bool = Field(default=True, description="Let a server keep a Chroma collection.")


class IndexSettings(_Section):
    """The index: who works on it, and the Chroma server that holds that of a large store."""

    background: bool = Field(
        default=True,
        description="Let a Python program that wrote with `import day1` index, embed and commit "
        "between its calls, in a thread.",
    )
    chroma_url: str | None = Field(
        None, description="A Chroma server, as http://HOST:8000; default: Chroma's own files."
    )
    chroma_token: Annotated[
        SecretStr, Field(description="Bearer token for the Chroma server, if it needs one.")
    ] = SecretStr("")


class PrimeSettings(_Section):
    """The prime: the text with which a session begins."""

    chars: int = Field(
        1_200,
        ge=400,
        le=20_000,
        description="The most characters that `day1 prime`, its resource and its file have.",
    )


class WriteSettings(_Section):
    """Limits and checks of the texts that are written."""

    raw_characters: int = Field(
        4_000,
        ge=100,
        le=1_000_000,
        description="Length at which raw_input and raw_output are cut, in characters.",
    )
    secrets: Literal["warn", "refuse", "ignore"] = Field(
        "warn", description="What a write does with a text that looks like a secret."
    )


class ChatSettings(_Section):
    """The chat model, which judges facts and words consolidated ones."""

    url: str | None = Field(None, description="Base address of an OpenAI-compatible endpoint.")
    model: str | None = Field(None, description="The endpoint's model name.")
    key: Annotated[SecretStr, Field(description="The endpoint's key.")] = SecretStr("")
    timeout_s: float = Field(60.0, gt=0, le=600, description="Seconds that one answer may take.")
    tries: int = Field(3, ge=1, le=10, description="How often day1 asks a busy endpoint.")


class PinningSettings(_Section):
    """The pinning service, which keeps the files of archives."""

    url: str | None = Field(
        None,
        description="The address that takes a file as a form and answers its content id, such as "
        "http://HOST:5001/api/v0/add?cid-version=1&raw-leaves=true.",
    )
    key: Annotated[SecretStr, Field(description="The service's key.")] = SecretStr("")
    timeout_s: float = Field(60.0, gt=0, le=600, description="Seconds that one file may take.")


class HttpSettings(_Section):
    """The HTTP server: `day1 serve`."""

    host: str = Field(
        "127.0.0.1", description="Address to listen on; any but loopback needs a token."
    )
    port: int = Field(8420, ge=0, le=65_535, description="Port to listen on; 0: any free one.")
    workers: int = Field(
        1, ge=1, description="Processes that answer calls; with several, one more starts them."
    )
    names: tuple[str, ...] = Field(
        (), description='Public names of the server, as JSON: ["memory.example.org"].'
    )
    trusted_proxies: tuple[IPvAnyNetwork, ...] = Field(
        (),
        description="Addresses or networks of proxies whose X-Forwarded-For is believed, "
        'as JSON: ["127.0.0.1"].',
    )
    rate: float = Field(
        200.0, ge=0, description="Requests a second that one token may make; 0: any number."
    )
    body_bytes: int = Field(
        4_194_304, ge=1_024, le=1_073_741_824, description="The longest request body."
    )
    value_body_bytes: int = Field(
        33_554_432,
        ge=1_024,
        le=1_073_741_824,
        description="The longest request body of the calls that take values of up to 8 MiB, which "
        "JSON can escape to three times their length; at least that of other calls.",
    )
    sse: bool = Field(default=False, description="Also serve MCP's older transport at /sse.")
    grace_s: float = Field(
        10.0, ge=0, le=600, description="Seconds that running calls may take when the server stops."
    )


def _command(text: str) -> str:
    """Check that a text is a command of one word or more, and return it.

    Raises:
        ValueError: the text has no word, or a quote is not closed.
    """
    if not shlex.split(text):
        raise ValueError("must name a command")
    return text


class JobsSettings(_Section):
    """Jobs that maintain the memory of a wallet (Compose Memory)."""

    hour: int = Field(2, ge=0, le=23, description="Hour of daily and weekly jobs, in UTC.")
    weekday: int = Field(6, ge=0, le=6, description="Day of weekly jobs; 0 is Monday.")
    transcript_days: int | None = Field(
        None,
        ge=1,
        description="Days after which a cleanup may remove transcripts; default: it removes none.",
    )
    extract: bool = Field(
        default=True,
        description="Let the chat model, if there is one, extract facts from recorded turns.",
    )


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix="DAY1_",
        env_nested_delimiter="__",
        env_ignore_empty=True,  # `NAME=` in a file of settings means the default
        frozen=True,
        extra="ignore",
    )

    home: Path | None = Field(
        None,
        description="The store's folder; default: the nearest .day1 upward, else the "
        "repository's (`day1 where` says which, and why). For a store on a server: this "
        "machine's own folder; default: one in the user's cache.",
    )
    branch: str | None = Field(None, description="The branch on which a process starts.")
    space: str | None = Field(
        None,
        description="The space of calls that name none, such as project:metal; default: all "
        "spaces, and new memories have none.",
    )
    agent_id: Name = Field(None, description="The agent that writes.")
    session_id: Name = Field(None, description="The session of the writes.")
    task_id: Name = Field(None, description="The task of the writes.")
    notify: Annotated[str, AfterValidator(_command)] | None = Field(
        None,
        description="A command that a server runs when something begins to wait for a person: "
        "a program and its arguments, quoted as for a shell; no shell runs it (reviews.md).",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "WARNING", description="The lowest level that is logged; logs go to stderr."
    )
    kill_at: str | None = Field(
        None, description="Tests only: the named point at which the process is killed."
    )
    store: StoreSettings = StoreSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    search: SearchSettings = SearchSettings()
    index: IndexSettings = IndexSettings()
    prime: PrimeSettings = PrimeSettings()
    write: WriteSettings = WriteSettings()
    chat: ChatSettings = ChatSettings()
    pinning: PinningSettings = PinningSettings()
    http: HttpSettings = HttpSettings()
    jobs: JobsSettings = JobsSettings()
    project: Literal["repository", "origin"] = Field(
        "repository",
        description="What shares one store: repository, with its worktrees and subfolders; or "
        "origin: all clones of one remote `origin`, in the user's data folder.",
    )
    judge: Literal["auto", "rules", "chat"] = Field(
        "auto", description="Who judges facts; auto: the chat model, if there is one."
    )

    @property
    def named(self) -> Named:
        """The settings that decide which store is used."""
        url = self.store.url
        return Named(self.home, None if url is None else url.get_secret_value(), self.project)

    @property
    def told(self) -> dict[str, Any]:
        """The settings that an agent may read: no key, no address and no folder."""
        section_by_name = {"embedder": self.embedder, "chat": self.chat, "search": self.search}
        return {name: _told(section) for name, section in section_by_name.items()} | {
            "judge": self.judge
        }


def _told(section: _Section) -> dict[str, Any]:
    told_values: dict[str, Any] = {}
    for field_name, value in section:
        if isinstance(value, SecretStr):
            told_values["has_api_key"] = bool(value.get_secret_value())
        elif field_name == "url":
            told_values["has_url"] = value is not None
        elif not isinstance(value, Path):
            told_values[field_name] = list(value) if isinstance(value, tuple) else value
    return {
        field_name: value for field_name, value in told_values.items() if field_name != "model_dir"
    }


def settings_at(settings: Settings, where: str) -> Settings:
    """Return the settings for the store at an address: a server's URL, or a folder."""
    url = SecretStr(where) if "://" in where else None
    home = None if url else Path(where).expanduser().absolute()
    store_settings = settings.store.model_copy(update={"url": url})
    return settings.model_copy(update={"home": home, "store": store_settings})
