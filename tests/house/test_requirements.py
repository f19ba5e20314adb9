"""Every promised line is named by a test; the script that says so can also say no."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "untested_lines"
PROMISED = 'LINES = {"S1-001": "One.", "S1-002": "Two."}\n'


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def check(folder: Path, *tests: str) -> tuple[int, str]:
    (folder / "requirements.py").write_text(PROMISED, encoding="utf-8")
    (folder / "test_it.py").write_text("\n".join(tests), encoding="utf-8")
    done = run(str(folder))
    return done.returncode, done.stdout


def test_every_promised_line_has_a_test() -> None:
    done = run()
    assert done.returncode == 0, done.stdout


def test_lines_that_tests_name_are_tested(tmp_path: Path) -> None:
    code, said = check(
        tmp_path,
        '@pytest.mark.line("S1-001")\ndef test_a(): ...',
        'class TestB:\n    @pytest.mark.line("S1-002")\n    def test_b(self): ...',
    )
    assert (code, said) == (0, "2 of 2 tested\n")


def test_a_line_without_a_test_is_printed(tmp_path: Path) -> None:
    code, said = check(tmp_path, '@pytest.mark.line("S1-001")\ndef test_a(): ...')
    assert (code, said) == (1, "S1-002  Two.\n1 of 2 tested\n")


def test_a_marker_is_on_a_test_and_names_three_promised_lines_at_most(tmp_path: Path) -> None:
    code, said = check(
        tmp_path,
        '@pytest.mark.line("S1-001", "S1-002")\ndef test_a(): ...',
        '@pytest.mark.line("S1-001", "S1-002", "S1-001", "S1-002")\ndef test_b(): ...',
        '@pytest.mark.line("S1-003")\ndef test_c(): ...',
        '@pytest.mark.line("S1-001")\ndef helper(): ...',
        "@pytest.mark.line()\ndef test_d(): ...",
    )
    assert code == 1
    problems = said.splitlines()
    assert len(problems) == 5
    assert "test_b names 4 lines" in problems[0]
    assert "test_c names S1-003, which is not promised" in problems[1]
    assert "not on a test" in problems[2]
    assert "test_d names 0 lines" in problems[3]
