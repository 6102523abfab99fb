"""Shell completion: the words offered after an incomplete command line."""

import subprocess
import sys

import pytest

from conformance.cli import main

TYPED = {
    "re": {"replay", "report"},
    "run vexide/": {"vexide/simulator", "vexide/frontend"},
    "run --write": {"--write-known-failures"},
    "prove --mut": {"--mutants"},
    "run nothing-begins-like-this": set[str](),
}


def test_bash_offers_what_fits() -> None:
    script = f'eval "$({sys.executable} -m conformance completion bash)"\n'
    for typed in TYPED:
        words = f"conformance {typed}"
        script += f"COMP_WORDS=({words}) COMP_CWORD={len(words.split()) - 1} COMPREPLY=()\n"
        script += '_conformance; echo "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(TYPED, offered, strict=True)) == TYPED


def test_zsh_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    scripts = []
    for shell in ("bash", "zsh"):
        assert main(["completion", shell]) == 0
        scripts.append(capsys.readouterr().out)
    bash, zsh = scripts
    assert zsh.endswith(bash)
    assert "bashcompinit" in zsh
