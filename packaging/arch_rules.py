#!/usr/bin/env python3
"""Turns upstream's dispatcher/codegen/arch_specs.json into our rules of architectures, and says what changed.

    packaging/arch_rules.py ARCH_SPECS.json [RULES.json]

RULES.json is crates/enumerate/rules/arch.json unless said. What upstream's file lacks (`about`, `conv_dtypes`, sizes of
further types) is kept from the old rules. Without changes nothing is written.
"""

import json
import sys
from pathlib import Path

OURS = Path(__file__).resolve().parent.parent / "crates/enumerate/rules/arch.json"


def fail(file, place, reason):
    sys.exit(f"{file}, {place}: {reason}")


def visible(table):
    """Upstream writes notes for readers under keys that begin with '_'."""
    return {key: value for key, value in table.items() if not key.startswith("_")}


def shape(file, place, numbers):
    if len(numbers) != 3 or not all(isinstance(number, int) and number > 0 for number in numbers):
        fail(file, place, f"found {numbers}, expected three whole numbers")
    return "x".join(map(str, numbers))


def types(file, place, key):
    """`fp16_fp16_fp32` as `fp16`, `fp8_bf8_fp32` as `fp8_bf8`: the accumulator follows from the operands."""
    words = key.replace("pk_fp4", "pk-fp4").replace("pk_int4", "pk-int4").split("_")
    if len(words) != 3:
        fail(file, place, f"found '{key}', expected the types of A, B and the accumulator")
    a, b = (word.replace("-", "_") for word in words[:2])
    return a if a == b else f"{a}_{b}"


def tiles(file, place, combos):
    return {
        types(file, place, key): [shape(file, f"{place}.{key}", tile) for tile in list_]
        for key, list_ in visible(combos).items()
    }


def budget(file, place, entry):
    """A share of what the architecture has, or bytes."""
    if entry.get("basis") == "fraction":
        return entry["value"]
    if entry.get("basis") == "absolute_kb":
        return {"bytes": entry["value"] * 1024}
    fail(file, place, f"found basis {entry.get('basis')!r}, expected 'fraction' or 'absolute_kb'")


def converted(file, upstream, old):
    architectures = {}
    preshuffle = visible(upstream["preshuffle_warp_tile_combos"])
    for name, arch in visible(upstream["architectures"]).items():
        place = f"architectures.{name}"
        new = {
            "family": arch["family"],
            "warp_size": arch["warp_size"],
            "lds_bytes": arch["lds_capacity_kb"] * 1024,
        }
        known = old["architectures"].get(name, {})
        if "conv_dtypes" in known:
            new["conv_dtypes"] = known["conv_dtypes"]
        new["waves"] = [shape(file, place, waves) for waves in arch["warp_configs"]]
        new["warp_tiles"] = tiles(file, place, arch["warp_tile_combos"])
        if name in preshuffle:
            new["preshuffle_warp_tiles"] = tiles(file, f"preshuffle_warp_tile_combos.{name}", preshuffle[name])
        architectures[name] = new
    budgets = visible(upstream["pipeline_lds_budget"])
    budgets = {key: budget(file, f"pipeline_lds_budget.{key}", entry) for key, entry in budgets.items()}
    otherwise = budgets.pop("default")
    refused = {}
    for pipeline, epilogue, scheduler in upstream["unsupported_trait_combos"]["combinations"]:
        refused.setdefault((scheduler, pipeline), []).append(epilogue)
    groups = {}
    for (scheduler, pipeline), epilogues in refused.items():
        groups.setdefault((scheduler, tuple(epilogues)), []).append(pipeline)
    bits = {key: round(size * 8) for key, size in visible(upstream["element_sizes"]).items()}
    return {
        "about": old["about"],
        "version": upstream["_version"],
        "architectures": architectures,
        "element_bits": {**old["element_bits"], **bits},
        "pipeline_lds": budgets,
        "pipeline_lds_otherwise": otherwise,
        "preshuffle_pipelines": upstream["preshuffle_pipelines"]["supported"],
        "unsupported_traits": [
            {"pipelines": pipelines, "epilogues": list(epilogues), "schedulers": [scheduler]}
            for (scheduler, epilogues), pipelines in groups.items()
        ],
    }


def changes(old, new, place=""):
    """Lines on what differs, key by key."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{place}.{key}" if place else key
            if key not in new:
                yield f"{below}: gone, was {json.dumps(old[key])}"
            elif key not in old:
                yield f"{below}: new, {json.dumps(new[key])}"
            else:
                yield from changes(old[key], new[key], below)
    elif isinstance(old, list) and isinstance(new, list) and sorted(map(str, old)) != sorted(map(str, new)):
        for word, from_, to in (("gone", old, new), ("new", new, old)):
            some = [item for item in from_ if item not in to]
            if some:
                yield f"{place}: {word}, {', '.join(map(str, some))}"
    elif old != new:
        yield f"{place}: {json.dumps(old)} -> {json.dumps(new)}"


def text(rules):
    """JSON with one line for each list."""
    def lines(value, indent):
        pad = "  " * indent
        if isinstance(value, dict) and any(isinstance(item, dict) or len(value) > 3 for item in value.values()):
            body = (f"{pad}  {json.dumps(key)}: {lines(item, indent + 1)}" for key, item in value.items())
            return "{\n" + ",\n".join(body) + f"\n{pad}}}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            body = (f"{pad}  {json.dumps(item)}" for item in value)
            return "[\n" + ",\n".join(body) + f"\n{pad}]"
        return json.dumps(value)
    return lines(rules, 0) + "\n"


def read(file):
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"{file}: {error}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    ours = Path(sys.argv[2]) if len(sys.argv) == 3 else OURS
    upstream, old = read(sys.argv[1]), read(ours)
    try:
        new = converted(sys.argv[1], upstream, old)
    except KeyError as missing:
        fail(sys.argv[1], missing.args[0], "found nothing, expected this key of arch_specs.json")
    found = list(changes(old, new))
    for line in found or ["no changes"]:
        print(line)
    if found:
        ours.write_text(text(new), encoding="utf-8")


main()
