"""Steps that are done once: each writes what it found, and a run that is started again goes on behind the last one.

    for each step:  its file says done -> nothing
                    else run it, and write done, skipped or failed, with the reason, the figures and the seconds

What was skipped or failed is tried again next time, since that is why somebody starts a run again.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


class Skip(Exception):
    """A step cannot run on this machine; says why."""


class Failed(Exception):
    """A step went wrong; says how."""


class Run:
    """A folder of results, and the time that is left."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.ends = time.monotonic() + seconds
        for name in ("steps", "logs"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def left(self, share: float = 1) -> int:
        """Seconds, or a share of those left; at least one."""
        return max(1, int(share * (self.ends - time.monotonic())))

    def results(self) -> dict[str, dict[str, Any]]:
        """What each step has written, in the order of the steps."""
        files = sorted((self.folder / "steps").glob("*.json"))
        return {file.stem.split("-", 1)[1]: json.loads(file.read_text()) for file in files}

    def needs(self, step: str) -> dict[str, Any]:
        """The figures of a step before; without them, the step that needs them is skipped."""
        result = self.results().get(step, {"state": "not done"})
        if result["state"] != "done":
            raise Skip(f"needs the step {step}, which is {result['state']}")
        return result["figures"]

    def do(self, number: int, step: str, action: Callable[[Run], dict[str, Any]]) -> None:
        """Runs a step, unless it is done."""
        if self.results().get(step, {}).get("state") == "done":
            print(f"prove: {step}: done before")
            return
        print(f"prove: {step} …", flush=True)
        began, result = time.monotonic(), {}
        try:
            result = {"state": "done", "figures": action(self)}
        except Skip as reason:
            result = {"state": "skipped", "reason": str(reason)}
        except (Failed, OSError) as reason:
            result = {"state": "failed", "reason": str(reason)}
        result["seconds"] = round(time.monotonic() - began, 1)
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        (self.folder / "steps" / f"{number:02}-{step}.json").write_text(text)
        print(f"prove: {step}: {result['state']}, {result['seconds']} s" + reason_of(result), flush=True)

    def command(
        self,
        log: str,
        words: Sequence[str | Path],
        *,
        limit: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Runs a program, keeps what it says in `logs`, and returns its standard output; fails with its last words."""
        line = shlex.join(map(str, words))
        try:
            ran = subprocess.run(
                [str(word) for word in words],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=limit or self.left(),
                env=environment,
            )
        except subprocess.TimeoutExpired as ended:
            raise Failed(f"`{words[0]}` took more than {ended.timeout:.0f} s (logs/{log}.log)") from None
        with (self.folder / "logs" / f"{log}.log").open("a") as file:
            file.write(f"$ {line}\n{ran.stdout}{ran.stderr}[{ran.returncode}]\n\n")
        if ran.returncode:
            said = (ran.stderr.strip() or ran.stdout.strip() or "nothing").splitlines()
            raise Failed(f"`{Path(words[0]).name}` ended with {ran.returncode}: {said[-1]} (logs/{log}.log)")
        return ran.stdout


def reason_of(result: dict[str, Any]) -> str:
    """Why a step is not done, for the end of a line."""
    return f": {result['reason']}" if "reason" in result else ""
