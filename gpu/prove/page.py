"""The page of a run, and the text for an issue: all that was found, and what was not done, with the reason."""

from __future__ import annotations

from typing import Any

from steps import Run, reason_of

WHO = {
    "estimate": "the estimate, which has learned nothing from this GPU",
    "universal": "the built-in universal model",
    "tuned": "the universal model, tuned on the other shapes",
    "trained": "a forest of the other shapes alone",
}
ROLES = {"default": "CK's dispatcher as it is", "chosen": "ck-select"}


def percent(share: float | None) -> str:
    """A share as the documents write it."""
    return "" if share is None else f"{100 * share:.2f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown; all columns but the first are figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def judged(figures: dict[str, Any]) -> str:
    """Who chose how well."""
    rows = [
        [WHO[name], *(percent(each[key]) for key in ("mean", "p10", "min", "best3"))] for name, each in figures.items()
    ]
    one = next(iter(figures.values()))
    rows.append(["the best single kernel", percent(one["fixed"]), "", "", ""])
    rows.append(["a random kernel", percent(one["random"]), "", "", ""])
    return table([f"who chooses, {one['shapes']} shapes held out", "mean", "P10", "min", "best of 3"], rows)


def swept(figures: dict[str, Any]) -> str:
    """What was measured, and what was not."""
    lines = []
    for part, each in figures.items():
        without = ", ".join(f"{count} {word}" for word, count in each["without"].items()) or "none"
        cut = "," if each["rows"] == each["pairs"] else f" of {each['pairs']}, the time was up,"
        lines.append(f"- {part}: {each['rows']} pairs{cut} {each['timed']} with a time; without: {without}")
    return "\n".join(lines) + "\n"


def dispatched(figures: dict[str, Any]) -> str:
    """What CK's dispatcher runs, with ck-select and without."""
    each = [(ROLES[role], efficiency) for role, efficiency in figures["efficiency"].items()]
    rows = [[words, percent(efficiency["mean"]), percent(efficiency["min"])] for words, efficiency in each]
    return table([f"what runs, {figures['kernels']} kernels, {figures['problems']} problems", "mean", "min"], rows)


def told(machine: dict[str, Any]) -> str:
    """The machine, as a list."""
    return "".join(f"- {name}: {value}\n" for name, value in machine.items() if value is not None)


SECTIONS = {"machine": told, "sweep": swept, "judge": judged, "dispatched": dispatched}


def section(step: str, result: dict[str, Any]) -> str:
    """A step: its figures, or why there are none."""
    head = f"## {step}\n\n{result['state']}, {result['seconds']} s{reason_of(result)}\n\n"
    kind = step.rsplit("-", 1)[-1]
    if result["state"] != "done" or kind not in SECTIONS:
        return head
    return head + SECTIONS[kind](result["figures"]) + "\n"


def issue(results: dict[str, dict[str, Any]]) -> str:
    """What to paste: the device in a line, the tables, and what was not done."""
    machine = results["machine"].get("figures", {})
    words = [f"{machine[key]}" for key in ("name", "target", "runtime", "ckselect", "revision") if machine.get(key)]
    parts = ["ck-select on " + (", ".join(words) or "a machine that lacks something"), ""]
    for step, result in results.items():
        kind = step.rsplit("-", 1)[-1]
        if result["state"] != "done":
            parts.append(f"{step}: {result['state']}{reason_of(result)}\n")
        elif kind in ("judge", "dispatched"):
            parts.append(f"{step}:\n\n{SECTIONS[kind](result['figures'])}")
    return "\n".join(parts)


def write(run: Run) -> None:
    """`report.md` and `issue.md`, from what the steps have written so far."""
    results = run.results()
    parts = [section(step, result) for step, result in results.items()]
    seconds = sum(result["seconds"] for result in results.values())
    head = "# ck-select on this GPU\n\nEfficiencies: speeds relative to the fastest measured kernel's, in percent.\n"
    files = f"\nFigures are in `steps`, output of all commands in `logs`; {seconds / 60:.1f} minutes in all.\n\n"
    (run.folder / "report.md").write_text(head + files + "".join(parts))
    (run.folder / "issue.md").write_text(issue(results))
