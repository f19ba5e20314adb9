"""`scripts/containers` on a machine that is not its own: what is somebody else's stays as it is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "containers"


def part(first: str, last: str) -> str:
    """Some lines of the script, to be run by themselves."""
    text = SCRIPT.read_text("utf-8")
    start = text.index(first)
    return text[start : text.index(last, start) + len(last)]


def test_no_engine_is_set_up_next_to_one_that_does_not_answer(tmp_path: Path) -> None:
    """E6: it may be stopped for a while, and both would use one firewall and one bridge."""
    calls = tmp_path / "calls"
    for name in ("docker", "dockerd", "iptables", "iptables-restore", "apt-get", "ip"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{calls}\nexit 1\n')
        (tmp_path / name).chmod(0o755)
    scripts = tmp_path / "checkout" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(SCRIPT, scripts)
    (scripts / "setup").write_text('cd "$(dirname "${BASH_SOURCE[0]}")/.."\n')
    shutil.copytree(ROOT / "docker", scripts.parent / "docker")
    kept = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    env = {**kept, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", str(scripts / "containers")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"not run: the container engine of this machine ({tmp_path}/dockerd)" in done.stderr
    assert calls.read_text().splitlines() == ["docker info"]


RULES = """
set -eu
iptables -N KEPT && iptables -A FORWARD -j KEPT && iptables -A KEPT -s 192.0.2.1 -j DROP
iptables -t nat -A POSTROUTING -s 192.0.2.0/24 -j MASQUERADE
before() { for t in filter nat; do iptables -t $t -S; done; }
before >"$1/before"
iptables -N DOCKER && iptables -N DOCKER-USER && iptables -N DOCKER-ISOLATION-STAGE-1
iptables -A DOCKER-USER -j RETURN && iptables -A DOCKER-ISOLATION-STAGE-1 -j DOCKER-USER
iptables -I FORWARD -j DOCKER-ISOLATION-STAGE-1
iptables -A FORWARD -o docker0 -j DOCKER && iptables -A FORWARD -i br-0123456789ab -j ACCEPT
iptables -t nat -N DOCKER && iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
iptables -t nat -A POSTROUTING -s 198.51.100.0/24 ! -o docker0 -j MASQUERADE
iptables -A INPUT -s 192.0.2.9 -j DROP
"""


def test_rules_that_the_engine_did_not_make_stay_in_the_firewall(tmp_path: Path) -> None:
    """E6: also those that another program adds while the engine runs."""
    command = ["unshare", "-n", "bash", "-c"]
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("iptables-restore"):
        pytest.skip("root, unshare and iptables are needed for a firewall of its own")
    tried = subprocess.run([*command, "iptables -t nat -S"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no firewall of its own can be had: {tried.stderr.strip()}")
    forget = part("dockers_rules=", "\n}\n")
    program = f"{RULES}\n{forget}\nforget_rules\nbefore >$1/after"
    done = subprocess.run(
        [*command, program, "-", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    after = (tmp_path / "after").read_text().splitlines()
    meanwhile = "-A INPUT -s 192.0.2.9/32 -j DROP"
    assert meanwhile in after
    after.remove(meanwhile)
    assert after == (tmp_path / "before").read_text().splitlines()
