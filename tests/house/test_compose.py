"""docker/compose.yaml, run: each profile from `init` to `down`, as the guide says it.

The checkout is another user's, who keeps it to himself. `scripts/containers` runs this: it takes
minutes, and images that are large to fetch. What can't be fetched is skipped, with the reason.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import images

ROOT = Path(__file__).resolve().parents[2]
SERVICES = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))["services"]
pytestmark = [
    pytest.mark.xdist_group("containers"),
    pytest.mark.skipif(
        not os.environ.get("DAY1_TEST_CONTAINERS"),
        reason="scripts/containers runs it (DAY1_TEST_CONTAINERS=1)",
    ),
]

_OVERRIDE = """
services:
  day1:
    image: {day1}
    build: !reset null
    ports: !override ["127.0.0.1::8420"]
{servers}"""


class Compose:
    """The services of one test, under a name of their own."""

    def __init__(self, folder: Path, image: str) -> None:
        self.name = f"day1-test-{secrets.token_hex(4)}"
        self.folder = folder / "checkout" / "docker"
        shutil.copytree(ROOT / "docker", self.folder)
        (self.folder / ".env").unlink(missing_ok=True)
        for path in [*self.folder.iterdir(), self.folder]:
            path.chmod(0o700 if path.is_dir() else 0o600)
            if os.geteuid() == 0:
                os.chown(path, 1000, 1000)
        self.override = folder / "override.yaml"
        servers = "".join(
            f"  {name}: {{image: {images.PREFIX}{service['image']}}}\n"
            for name, service in SERVICES.items()
            if name != "day1"
        )
        self.override.write_text(_OVERRIDE.format(day1=image, servers=servers))

    def settings(self, **values: str) -> None:
        """Write docker/.env."""
        lines = [f"{name}={value}\n" for name, value in values.items()]
        (self.folder / ".env").write_text("".join(lines))

    def ask(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        files = ["-f", str(self.folder / "compose.yaml"), "-f", str(self.override)]
        return images.docker("compose", "-p", self.name, *files, *arguments, stdin=stdin)

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        done = self.ask(*arguments, stdin=stdin)
        assert done.returncode == 0, f"compose {' '.join(arguments)}: {done.stderr[-3000:]}{self.ask('logs').stdout[-3000:]}"  # fmt: skip
        return done.stdout.strip()

    def day1(self, *arguments: str) -> str:
        """A command of day1, in a container of its own."""
        return self("run", "--rm", "-T", "day1", *arguments)

    def up(self) -> None:
        self("up", "-d", "--wait", "--wait-timeout", "180")

    def post(self, operation: str, token: str, **arguments: Any) -> Any:
        """Call an operation over the published port."""
        request = urllib.request.Request(
            f"http://{self('port', 'day1', '8420')}/api/v1/{operation}",
            json.dumps(arguments).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def facts(self, token: str) -> list[str]:
        rows = self.post("memory_list", token, type="fact")["rows"]
        return sorted(row["fact_text"] for row in rows)

    def sql(self, statements: str) -> str:
        """As the server's administrator."""
        return self("exec", "-T", "dolt", "dolt", "sql", "-r", "csv", stdin=statements)


@pytest.fixture
def compose(tmp_path: Path, image: str) -> Iterator[Compose]:
    version = images.docker("compose", "version", "--short").stdout.strip().lstrip("v")
    if tuple(int(n) for n in re.findall(r"\d+", version)[:3]) < (2, 24, 4):
        pytest.skip(
            f"the override of these tests wants Compose 2.24.4; here is {version or 'none'}"
        )
    made = Compose(tmp_path, image)
    yield made
    made.ask("--profile", "all", "down", "-v", "--remove-orphans", "-t", "5")


def admitted(compose: Compose) -> str:
    """A store and its first token, as the guide says."""
    compose.day1("init")
    made = json.loads(compose.day1("token", "create", "me", "--scope", "admin", "--json"))
    return str(made["secret"])


def test_compose_keeps_a_folder_in_a_volume(compose: Compose) -> None:
    """E7: an empty DAY1_STORE__URL means the folder; and what is written outlives the containers."""
    compose.settings(DAY1_STORE__URL="", DAY1_INDEX__CHROMA_URL="")
    token = admitted(compose)
    compose.up()
    compose.post("memory_write_fact", token, fact_text="Kept in a volume.")
    compose("exec", "-T", "day1", "day1", "backup", "/backups/first.tar.gz")
    compose("down")
    compose.up()
    assert compose.facts(token) == ["Kept in a volume."]
    checked = compose("exec", "-T", "day1", "day1", "backup", "--check", "/backups/first.tar.gz")
    assert "main" in checked


BACKUP = """
USE day1_ledger; CALL DOLT_BACKUP('sync-url', 'file:///backups/day1_ledger');
USE day1; CALL DOLT_BACKUP('sync-url', 'file:///backups/day1');
"""


def test_compose_keeps_the_store_on_a_dolt_server(compose: Compose) -> None:
    """E2, E3: it starts from a checkout of umask 077, and its backup outlives its container."""
    images.need(SERVICES["dolt"]["image"])
    first, second = secrets.token_hex(8), secrets.token_hex(8)
    url = "mysql+pymysql://day1:${DOLT_PASSWORD}@dolt:3306/day1"
    compose.settings(COMPOSE_PROFILES="dolt", DOLT_PASSWORD=first, DAY1_STORE__URL=url)
    token = admitted(compose)
    compose.up()
    compose.post("memory_write_fact", token, fact_text="Kept on a server.")
    compose.sql(BACKUP)
    # E7: a new password, in the order of the guide.
    compose.sql(f"ALTER USER 'day1'@'%' IDENTIFIED BY '{second}';")
    compose.settings(COMPOSE_PROFILES="dolt", DOLT_PASSWORD=second, DAY1_STORE__URL=url)
    compose("down")
    compose.up()
    assert compose.facts(token) == ["Kept on a server."]
    compose.sql("CALL DOLT_BACKUP('restore', 'file:///backups/day1', 'again');")
    assert "Kept on a server." in compose.sql("SELECT fact_text FROM again.facts;")


def test_a_chroma_server_that_nobody_on_this_machine_reaches(compose: Compose) -> None:
    """E7: it asks nobody who they are, so only day1 is in its network."""
    images.need(SERVICES["chroma"]["image"])
    compose.settings(COMPOSE_PROFILES="chroma", DAY1_INDEX__CHROMA_URL="http://chroma:8000")
    token = admitted(compose)
    compose.up()
    compose.post("memory_write_fact", token, fact_text="Near others.")
    beat = "import urllib.request as u; print(u.urlopen('http://chroma:8000/api/v2/heartbeat', timeout=9).status)"  # fmt: skip
    assert compose("exec", "-T", "day1", "python", "-c", beat) == "200"
    assert "Chroma" not in compose("exec", "-T", "day1", "day1", "doctor")
    network = images.said_by("network", "inspect", "-f", "{{.Id}}", f"{compose.name}_servers")
    routes = Path("/proc/net/route").read_text("utf-8").splitlines()
    assert f"br-{network[:12]}" not in {route.split()[0] for route in routes}, "no way leads there"


def test_compose_keeps_the_store_on_a_matrixone_server(compose: Compose) -> None:
    images.need(SERVICES["matrixone"]["image"])
    compose.settings(
        COMPOSE_PROFILES="matrixone",
        DAY1_STORE__URL="mysql+pymysql://root:111@matrixone:6001/day1",
    )
    token = admitted(compose)
    compose.up()
    compose.post("memory_write_fact", token, fact_text="Kept on a server.")
    assert compose.facts(token) == ["Kept on a server."]


def test_a_volume_for_the_model_is_filled_in_a_container(compose: Compose) -> None:
    """E4: /opt/model is a mount point, its folder is read-only, and /tmp has 64 MB."""
    model = os.environ.get("DAY1_EMBEDDER__MODEL_DIR")
    if not model or not Path(model).is_dir():
        pytest.skip("DAY1_EMBEDDER__MODEL_DIR names no model folder")
    volume = f"{compose.name}-model"
    mounts = ["-v", f"{volume}:/opt/model", "-v", f"{model}:/given:ro"]
    try:
        run = ["run", "--rm", "-T", *mounts, "day1", "model"]
        assert compose(*run, "install", "/given") == "The model is in /opt/model"
        assert "/opt/model" in compose(*run, "status")
    finally:
        images.docker("volume", "rm", "-f", volume)
    refused = compose.ask("run", "--rm", "-T", *mounts[2:], "day1", "model", "install", "/given")
    assert "cannot be put into /opt/model: Read-only file system" in refused.stderr
