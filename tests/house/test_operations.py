"""What docs/operations.md and docker/ promise of a service: read from the files themselves."""

import json
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from day1.adapters.mysql.url import parse
from day1.settings import Settings
from day1.toolsets import operations
from tests import images
from tests.waiting import until
from tests.wires.test_cli_server import LEDGER, MEMORY

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "operations.md").read_text("utf-8")
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text("utf-8")


SERVERS = ("dolt", "matrixone", "chroma")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def service(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]["day1"]
    return found


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their arguments, lines joined."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines() if line.strip()]  # type: ignore[misc]  # two parts


def final() -> list[tuple[str, str]]:
    """Those of the image itself."""
    every = instructions()
    last = max(n for n, (word, _) in enumerate(every) if word == "FROM")
    return every[last:]


def test_the_image_is_pinned_built_in_two_stages_and_runs_as_a_user() -> None:
    bases = [value for word, value in instructions() if word == "FROM"]
    assert bases == ["$PYTHON AS build", "$PYTHON"]
    base = next(value for word, value in instructions() if word == "ARG").removeprefix("PYTHON=")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+|.*@sha256:[0-9a-f]{64}", base)
    words = dict(final())
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", words["USER"]), "by number: it need not be looked up"
    assert [word for word, _ in final()].index("USER") < [w for w, _ in final()].index("ENTRYPOINT")
    assert "pip" not in json.dumps(final()), "what builds is not in the image's own steps"


def test_the_image_checks_its_health_as_a_client_would(service: dict[str, Any]) -> None:
    (command,) = [value for word, value in final() if word == "HEALTHCHECK"]
    test = json.loads(command.partition("CMD ")[2])
    assert test[0] == "python"
    assert "http://127.0.0.1:8420/ready" in test[2]
    assert service["healthcheck"]["test"] == ["CMD", *test]
    compile(test[2], "healthcheck", "exec")


def test_the_image_keeps_its_store_in_a_folder_of_its_volume() -> None:
    words = dict(final())
    volumes = json.loads(words["VOLUME"])
    home = re.search(r"DAY1_HOME=(\S+)", words["ENV"])
    assert home is not None
    assert str(Path(home[1]).parent) in volumes, "a restore renames the folder: no mount point"
    assert "DAY1_HTTP__HOST=0.0.0.0" in words["ENV"]


def test_every_setting_that_is_named_exists(service: dict[str, Any]) -> None:
    named = set(re.findall(r"DAY1_[A-Z_]+", GUIDE + DOCKERFILE + json.dumps(service)))
    for name in named:
        section, _, field = name.removeprefix("DAY1_").lower().partition("__")
        assert section in Settings.model_fields, name
        if field:
            kind: Any = Settings.model_fields[section].annotation
            assert field in kind.model_fields, name


def test_the_container_may_do_as_little_as_it_can(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == dict(final())["USER"]
    assert all("noexec" in mount for mount in service["tmpfs"])
    assert not {"privileged", "cap_add", "network_mode", "devices", "pid", "ipc"} & service.keys()
    for published in service["ports"]:
        assert published.startswith("127.0.0.1:"), "others come through a proxy with TLS"
    mounts = {volume.partition(":")[2] for volume in service["volumes"]}
    assert mounts == set(json.loads(dict(final())["VOLUME"]))


def test_each_server_has_its_profile_a_pinned_image_a_health_check_and_a_volume(
    compose: dict[str, Any], service: dict[str, Any]
) -> None:
    assert set(compose["services"]) == {"day1", *SERVERS}
    assert "profiles" not in service, "by itself the store is a folder"
    tested = (ROOT / "tests" / "servers.py").read_text("utf-8")
    for name in SERVERS:
        server = compose["services"][name]
        assert server["profiles"] == [name, "all"]
        image, _, tag = server["image"].partition(":")
        assert re.fullmatch(r"\d+\.\d+\.\d+", tag)
        if name == "chroma":
            assert tag.split(".")[:2] == version("chromadb").split(".")[:2]
        else:
            assert f'"{image}:{tag}"' in tested, "what the tests start"
        assert server["healthcheck"]["test"][0] == "CMD"
        assert server["volumes"][0].partition(":")[0] in compose["volumes"]
        assert service["depends_on"][name] == {"condition": "service_healthy", "required": False}


def test_no_server_can_be_reached_from_outside_nor_with_a_password_that_is_known(
    compose: dict[str, Any], service: dict[str, Any]
) -> None:
    no_address_here = {"com.docker.network.bridge.inhibit_ipv4": "true"}
    assert compose["networks"] == {"servers": {"internal": True, "driver_opts": no_address_here}}
    assert service["networks"] == ["default", "servers"]
    for name in SERVERS:
        server = compose["services"][name]
        assert server["networks"] == ["servers"]
        assert server["security_opt"] == ["no-new-privileges:true"]
        assert not {"ports", "privileged", "cap_add", "network_mode", "pid", "ipc"} & server.keys()
        for variable, value in server.get("environment", {}).items():
            assert "PASSWORD" not in variable or value == f"${{{variable}:-}}"


def test_the_example_names_what_compose_reads_and_settings_that_exist(
    service: dict[str, Any],
) -> None:
    example = (ROOT / "docker" / "example.env").read_text("utf-8")
    assigned = dict(re.findall(r"^#? ?([A-Z][A-Z0-9_]+)=(.*)$", example, re.MULTILINE))
    read = re.findall(r"\$\{(\w+)", (ROOT / "docker" / "compose.yaml").read_text("utf-8"))
    passed_on = {name for name, value in service["environment"].items() if value is None}
    assert assigned.keys() == {*read, *passed_on, "COMPOSE_PROFILES", "MATRIXONE_PASSWORD"}
    assert set(assigned["COMPOSE_PROFILES"].split(",")) <= set(SERVERS)
    assert not any(value for name, value in assigned.items() if name.endswith("PASSWORD"))
    assert parse(assigned["DAY1_STORE__URL"].replace("${MATRIXONE_PASSWORD}", "x")).database
    assert ".env\n" in (ROOT / ".gitignore").read_text("utf-8")


def test_the_user_of_the_dolt_image_has_the_rights_that_the_guide_and_the_tests_give(
    compose: dict[str, Any],
) -> None:
    script: str = compose["configs"]["dolt-rights"]["content"]
    granted = dict(
        re.findall(r"^GRANT (.+) ON (day1\w*)\.\* TO 'day1'@'%';$", script, re.MULTILINE)
    )
    assert granted == {MEMORY: "day1", LEDGER: "day1_ledger"}
    assert len(granted) == script.count("GRANT")
    guide = (ROOT / "docs" / "servers.md").read_text("utf-8")
    for line in script.splitlines()[1:]:
        assert line.replace(" IF NOT EXISTS", "") in guide


def test_only_what_the_image_needs_is_sent_to_the_builder() -> None:
    lines = (ROOT / "docker" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert lines[0] == "*"
    copied = {path for word, value in instructions() if word == "COPY" and "--from" not in value for path in value.split()[:-1]}  # fmt: skip
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    for path in copied:
        assert (ROOT / path).exists()


def units() -> dict[str, str]:
    """The systemd units of the guide, by the name that stands before each."""
    found = re.findall(r"`/etc/systemd/system/([\w.-]+)`.*?```ini\n(.*?)```", GUIDE, re.DOTALL)
    return dict(found)


def test_the_units_are_there_and_the_service_is_hardened() -> None:
    assert set(units()) == {"day1.service", "day1-backup.service", "day1-backup.timer"}
    service = units()["day1.service"]
    for line in (
        *("NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes"),
        *("CapabilityBoundingSet=", "SystemCallFilter=@system-service", "RestrictNamespaces=yes"),
    ):
        assert line in service.splitlines()
    home = re.search(r"DAY1_HOME=(\S+)", service)
    assert home is not None
    assert str(Path(home[1]).parent) == "/var/lib/day1"


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    for name, text in units().items():
        text = text.replace("/opt/day1/bin/day1", "/bin/true").replace("=day1\n", "=root\n")
        (tmp_path / name).write_text(text)
    for name in units():
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        about_ours = [line for line in done.stderr.splitlines() if "day1" in line]
        assert (done.returncode, about_ours) == (0, []), done.stderr


def test_commands_of_the_guide_exist() -> None:
    from day1.interfaces.cli.main import SECTIONS

    commands = {name for names in SECTIONS.values() for name in names}
    named = set(re.findall(r"^    (?:docker .* )?day1 (\w[\w-]*)", GUIDE, re.MULTILINE))
    assert named >= {"init", "token", "serve", "backup"}
    assert named <= commands
    assert operations("admin"), "tokens have operations too"


@pytest.mark.xdist_group("containers")
def test_the_image_builds_and_is_healthy(image: str) -> None:
    """E6: it is asked for its health, what fails is shown, and nothing stays behind."""
    volume = images.said_by("volume", "create")
    confined = ["--read-only", "--cap-drop", "ALL", "--tmpfs", "/tmp", "-v", f"{volume}:/data"]
    container = ""
    try:
        assert images.said_by("run", "--rm", *confined, image, "--version").startswith("day1 ")
        empty = images.docker("run", "--rm", *confined, image)
        assert empty.returncode == 1
        assert "/data/store holds no day1 store; `day1 init` makes one." in empty.stderr
        images.said_by("run", "--rm", *confined, image, "init")
        images.said_by("run", "--rm", *confined, image, "token", "create", "me", "--scope", "read")
        container = images.said_by("run", "-d", "--health-interval", "1s", *confined, image)
        until(lambda: health_of(container) == "healthy", "the container is healthy", 90)
        log = images.docker("logs", container).stderr
        assert "http://127.0.0.1:8420/review" in log
    finally:
        images.docker("rm", "-f", "-v", container or "none")
        images.docker("volume", "rm", volume)


def health_of(container: str) -> str:
    return images.said_by("inspect", "-f", "{{.State.Status}} {{.State.Health.Status}}", container).removeprefix("running ")  # fmt: skip


@pytest.mark.xdist_group("containers")
def test_a_builder_that_reaches_no_package_index_is_told_as_that() -> None:
    """E6: without an index the image test is skipped with the reason, not red."""
    images.need_engine()
    options = ("--network", "none", "--no-cache-filter", "build")
    with pytest.raises(pytest.skip.Exception) as caught, images.built(*options):
        pass
    if "can't be fetched" in str(caught.value):
        raise caught.value
    assert str(caught.value).startswith("the builder reaches no package index: ")


def test_what_pip_says_without_an_index_names_it() -> None:
    """E6: and the index is named."""
    said = """WARNING: Retrying (Retry(total=0)) after connection broken by 'NameResolutionError("HTTPSConnection(host='index.example.org', port=443): Failed to resolve")': /simple/hatchling/
    ERROR: No matching distribution found for hatchling>=1.27"""
    assert images.without_index(said) == "the builder reaches no package index: index.example.org"
    assert images.without_index("ERROR: No matching distribution found for day2") is None
