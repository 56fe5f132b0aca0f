"""A runner of GitHub's actions, as far as the composite action of this repository needs one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def action() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return document


@dataclass
class Runner:
    """The environment of a composite action's steps, with files in `folder`, and the results of the steps."""

    folder: Path
    workspace: Path
    #: Packages for the installation, instead of the network.
    env: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Actions of others that would have run, with their inputs.
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""

    def file(self, name: str) -> Path:
        path = self.folder / name
        path.touch()
        return path

    @property
    def summary(self) -> str:
        return self.file("summary").read_text(encoding="utf-8")

    def path(self) -> str:
        """Return the PATH of a step: folders that earlier steps added, then those of this process."""
        added = self.file("path").read_text(encoding="utf-8").split()
        return os.pathsep.join([*reversed(added), str(BIN), os.environ["PATH"]])

    def evaluate(self, text: str, inputs: Mapping[str, str]) -> str:
        """Return `text` with the values of its expressions; those of conditions are ``True`` and ``False``."""
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {f"steps.{step}.outputs.{key}": v for step, all_ in self.outputs.items() for key, v in all_.items()}
        known |= {"runner.temp": str(self.folder), "runner.os": "Linux", "runner.arch": "X64"}
        known |= {"steps.python.outputs.python-path": sys.executable}

        def value(match: re.Match[str]) -> str:
            names = r"(?:inputs|steps|runner)\.[\w.-]+"
            if re.fullmatch(names, match[1]):
                return known.get(match[1], "")
            words = re.sub(names, lambda name: repr(known.get(name[0], "")), match[1])
            words = words.replace("!cancelled()", "True").replace("&&", "and")
            assert re.fullmatch(r"(True|'[^']*' [=!]= '[^']*'| and )+", words), words
            return str(eval(words))  # noqa: S307

        return re.sub(r"\$\{\{ (.*?) \}\}", value, text)

    def run(self, **given: str) -> int:
        """Run the action's steps with the inputs `given`, in whose names ``_`` stands for ``-``.

        Returns
        -------
        int, exit status of the first step that fails; steps after it run only if their condition says so
        """
        inputs = {name: str(entry.get("default", "")) for name, entry in action()["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        (self.folder / "steps").mkdir(exist_ok=True)
        failed = 0
        for step in action()["runs"]["steps"]:
            condition = step.get("if", "")
            if failed and "cancelled()" not in condition:
                continue
            if condition and self.evaluate(condition, inputs) != "True":
                continue
            if "uses" in step:
                self.used[step["uses"].partition("@")[0]] = {
                    name: self.evaluate(value, inputs) if isinstance(value, str) else value
                    for name, value in step["with"].items()
                }
                continue
            failed = failed or self._run(step, inputs)
        return failed

    def _run(self, step: dict[str, Any], inputs: Mapping[str, str]) -> int:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "values of users reach scripts as variables only"
        script, output = self.file("steps/script"), self.folder / "output"
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("", encoding="utf-8")
        env = {
            "PATH": self.path(),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_PATH": str(self.file("path")),
            "GITHUB_STEP_SUMMARY": str(self.file("summary")),
            **{key: self.evaluate(value, inputs) for key, value in step.get("env", {}).items()},
            **self.env,
        }
        # What GitHub's runner starts for `shell: bash`.
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        where = self.workspace / self.evaluate(step.get("working-directory", "."), inputs)
        done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=280, check=False)
        self.log += done.stdout + done.stderr
        if "id" in step:
            lines = output.read_text(encoding="utf-8").splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return done.returncode
