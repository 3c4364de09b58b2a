"""The list: each line is a table or a sentence of figures, how it is made, where it stands, and its noise.

What needs measurements that are not in the repository raises LookupError without DATA. What cannot be made again, times
of a device or runs of hours, is in RECORDED, with the day and the file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from commands import H100, H200, OUT, card, ckselect, efficiency, elsewhere, kept, slices, trained, winners
from documents import ROOT, Place

RESULTS, PROOF, MOE = "docs/results.md", "docs/gpu-proof.md", "docs/moe.md"


@dataclass(frozen=True)
class Line:
    """Figures of a table, or of a sentence; `noise` is what a run again may differ by, in the unit of the figures."""

    table: str
    place: Place
    make: Callable[[], list[float]]
    noise: float = 0.0


def h200(direction: str) -> list[Path]:
    """All tables of a direction with warm caches."""
    return [file for file in sorted(H200.glob(f"{direction}*.parquet")) if "cold" not in file.name]


def unseen(direction: str) -> list[Path]:
    """The H100's convolutions."""
    return sorted(H100.glob(f"{direction}.unseen*.parquet"))


def oracle() -> Path:
    """Upstream's forward convolutions, every kernel."""
    return elsewhere("mi355x/forward_bf16_oracle_dev.csv")


def sweep() -> Path:
    """Upstream's training sweep."""
    return elsewhere("mi355x/forward_bf16_training_20k.csv")


def of_h200() -> str:
    """A universal model of the H200's convolutions alone."""
    return trained("h200", "--universal", "--folds", "1", "--data", *h200(""))


def of_mi355x() -> str:
    """A universal model of the MI355X's alone."""
    return trained("mi355x", "--universal", "--folds", "1", "--arch", "gfx950", "--data", sweep(), oracle())


def measured_gpu() -> Iterator[Line]:
    """The shipped model of the MI355X."""
    section, table, names = (
        "With measurements of the GPU",
        "the MI355X's own model",
        "mean,median,P10,min,best of top 3",
    )

    def place(words: str, cells: tuple[int, int]) -> Place:
        return Place(RESULTS, section, words, cells)

    yield Line(
        table, place("the shipped model, default folds", (1, 5)),
        lambda: card("grouped_conv_forward_bf16_gfx950", "relative", names),
    )  # fmt: skip
    yield Line(
        table, place("upstream's model", (1, 5)),
        lambda: efficiency(
            str(elsewhere("mi355x/upstream_picks_dev.csv")), [oracle()], names="mean median p10 best3"
        ),
    )  # fmt: skip
    yield Line(
        table, place("the best single kernel; a random one", (1, 1)),
        lambda: efficiency("estimate", [oracle()], "--arch", "gfx950", names="fixed random"),
    )  # fmt: skip


# Judged on; data; architecture.
JUDGED: list[tuple[str, Callable[[], list[Path]], str]] = [
    ("MI355X oracle", lambda: [oracle()], "gfx950"),
    ("MI355X training sweep", lambda: [sweep()], "gfx950"),
    ("H200 forward", lambda: h200("forward"), "sm_90"),
    ("H200 bwd_data", lambda: h200("bwd_data"), "sm_90"),
    ("H200 bwd_weight", lambda: h200("bwd_weight"), "sm_90"),
    ("H100 forward, unseen", lambda: unseen("forward"), "sm_90"),
    ("bwd_data, unseen", lambda: unseen("bwd_data"), "sm_90"),
    ("bwd_weight, unseen", lambda: unseen("bwd_weight"), "sm_90"),
    ("H200 GEMMs, `gemm31`", lambda: [H200 / "gemm" / "gemm31.parquet"], "sm_90"),
]


def unmeasured_gpu() -> Iterator[Line]:
    """The estimate, and universal models that have not seen what they are judged on."""
    section = "Without measurements of the GPU"
    for words, data, arch in JUDGED:
        yield Line(
            "the estimate", Place(RESULTS, section, words, (2, 2)),
            lambda data=data, arch=arch: efficiency("estimate", data(), "--arch", arch),
        )  # fmt: skip
        if words == "MI355X training sweep":
            continue
        model = of_h200 if arch == "gfx950" else of_mi355x
        yield Line(
            "a universal model that has not seen the vendor", Place(RESULTS, section, words, (3, 3), 0),
            lambda data=data, arch=arch, model=model: efficiency(model(), data(), "--arch", arch),
        )  # fmt: skip
    gemms = [H200 / "gemm" / "gemm31.parquet"]
    yield Line(
        "a universal model that has not seen GEMMs", Place(RESULTS, section, JUDGED[-1][0], (3, 3), 1),
        lambda: efficiency(of_h200(), gemms, "--arch", "sm_90"),
    )  # fmt: skip
    yield Line(
        "the universal model, folds", Place(RESULTS, section, "equal sizes together (4,008 problems),"),
        lambda: card("universal", "relative", "mean,P10,best of top 3"),
    )  # fmt: skip
    for words, data in (
        ("on `gemm31`", gemms),
        ("sizes it knows from the H200,", unseen("forward")),
        ("(forward),", unseen("bwd_data")),
        ("(bwd_data) and", unseen("bwd_weight")),
    ):
        yield Line(
            "the universal model", Place(RESULTS, section, words),
            lambda data=data: efficiency("embedded:universal", data, "--arch", "sm_90"),
        )  # fmt: skip
    yield Line(
        "the estimate, few rows", Place(RESULTS, section, "(`gemm31`:"),
        lambda: slices("estimate", gemms, "--arch", "sm_90", by="shape_family", names="tiny_m.mean tiny_m.p10"),
    )  # fmt: skip
    yield Line(
        "the estimate, cold caches", Place(RESULTS, section, "With cold caches the estimate has"),
        lambda: [
            figure
            for direction in ("forward", "bwd_data", "bwd_weight")
            for figure in efficiency("estimate", [H200 / f"{direction}.cold.parquet"], "--arch", "sm_90")
        ],
    )  # fmt: skip


SPLITS = ("--choose", "split_k")
BF16, FP8 = "gemm_triton_bf16", "gemm_triton_fp8"
# A row of the table, which of those so called, its data and options.
POOLS: list[tuple[str, int, list[Path], tuple[str, ...]]] = [
    ("H100 fp16 (`gemm_triton`)", 0, [H100 / "gemm_triton.parquet"], ()),
    ("H100 fp16, parts (`_splits`)", 0, [H100 / "gemm_triton_splits.parquet"], SPLITS),
    ("H100 bf16, parts", 0, [H100 / f"{BF16}.parquet", H100 / f"{BF16}_splits.parquet"], SPLITS),
    ("the same, unseen", 0, [H100 / f"{BF16}.unseen.parquet", H100 / f"{BF16}_splits.unseen.parquet"], SPLITS),
    ("H100 fp8, parts", 0, [H100 / f"{FP8}.parquet", H100 / f"{FP8}_splits.parquet"], SPLITS),
    ("the same, unseen", 1, [H100 / f"{FP8}.unseen.parquet", H100 / f"{FP8}_splits.unseen.parquet"], SPLITS),
    ("H200 bf16, parts", 0, [H200 / "gemm" / f"{BF16}{end}.parquet" for end in ("", "_splits")], SPLITS),
    ("the same, unseen", 2, [H200 / "gemm" / f"{BF16}{end}.unseen.parquet" for end in ("", "_splits")], SPLITS),
]


def hundreds() -> Iterator[Line]:
    """Triton's GEMMs. The universal model has folds of its training where it is not judged on unseen shapes."""
    section, table = "Pools of hundreds", "Triton's GEMMs"
    for words, nth, data, more in POOLS:
        for model, cell in ("estimate", 2), ("embedded:universal", 3):
            if model == "estimate" or words == "the same, unseen":
                yield Line(
                    table, Place(RESULTS, section, words, (cell, cell), nth=nth),
                    lambda data=data, more=more, model=model: efficiency(model, data, "--arch", "sm_90", *more),
                )  # fmt: skip
    layouts = [H200 / "gemm" / f"{BF16}_layouts.parquet"]
    for model, cell in ("estimate", 2), ("embedded:universal", 3):
        yield Line(
            table, Place(RESULTS, section, "H200 bf16 `_layouts`: rrr; crr; ccr (means)", (cell, cell)),
            lambda model=model: slices(
                model, layouts, "--arch", "sm_90", by="layout", names="rrr.mean crr.mean ccr.mean"
            ),
        )  # fmt: skip


def fastest() -> Iterator[Line]:
    """Where the fastest of CK's own fp8 kernels are among all that the configuration lists."""

    def counts() -> list[float]:
        table, pool = OUT / "fastest.csv", OUT / "wide.json"
        OUT.mkdir(parents=True, exist_ok=True)
        config = ROOT / "configs" / "gemm_wide.json"
        ckselect("enumerate", config, "--params", "op=gemm_universal", "--output", pool)
        rows = list(csv.DictReader(elsewhere("mi355x/gemm_fp8_two_kernels_dev.csv").read_text().splitlines()))
        lines = [f"{row['m']},{row['n']},{row['k']},{row['oracle_best_kernel']}" for row in rows]
        table.write_text("\n".join(["m,n,k,kernel", *lines]) + "\n")
        models = ("estimate", "embedded:universal")
        said = [next(iter(winners(model, table, str(pool), "gfx950").values())) for model in models]
        first, first5 = (
            [float(each["shapes"]) * float(each[f"winner_first_{part}"]) for each in said]
            for part in ("hundredth", "twentieth")
        )
        return [*first, 5, *first5]

    yield Line("CK's own GEMMs", Place(RESULTS, "Pools of hundreds", "in the first 1 % (47) for"), counts)


# A table, a GPU's column: how evaluate calls it, and the model.
GPUS = {2: ("gfx942/304", "gfx942"), 3: ("gfx942/80", "gfx942"), 4: ("gfx950/256", "gfx950")}
AITER = {
    **dict.fromkeys(("a8w8_rowwise", "a8w8_bpreshuffle", "a8w8_blockscale"), (2, 3, 4)),
    "a8w8_bpreshuffle_cktile": (2, 3),
    "a8w8_blockscale_bpreshuffle": (2, 3, 4),
    "a4w4_blockscale": (4,),
    "a8w8_batched": (2, 4),
    "bf16_batched": (2, 4),
}


def aiter() -> Iterator[Line]:
    """Winners of AITER's tables: by the estimate, and by models, whose cards have their folds."""
    for name, columns in AITER.items():
        for column in columns:
            gpu, arch = GPUS[column]

            def place(part: int, name: str = name, cell: int = column - 1) -> Place:
                return Place(RESULTS, "Winners of AITER's tables", name, (cell, cell), part)

            def estimate(name: str = name, gpu: str = gpu, arch: str = arch) -> list[float]:
                said = winners("estimate", elsewhere(f"aiter/{name}.csv.gz"), name, arch)[gpu]
                return [100 * float(said[f"winner_{place}"]) for place in ("top1", "top3", "first_tenth")]

            yield Line("AITER's winners, the estimate", place(0), estimate)
            yield Line(
                "AITER's winners, models", place(1),
                lambda name=name, gpu=gpu, arch=arch: card(
                    f"gemm_fp8_{arch}", f"{name} {gpu}", "winner_top1,winner_top3"
                ),
                # Cards have a decimal, which was rounded before.
                noise=0.05,
            )  # fmt: skip


def promising() -> Iterator[Line]:
    """What `bench --order` keeps, by the estimate's factor and until choices are sure."""
    names = {
        "H200 forward": lambda: h200("forward"),
        "H200 bwd_data": lambda: h200("bwd_data"),
        "H200 bwd_weight": lambda: h200("bwd_weight"),
        "MI355X oracle": lambda: [oracle()],
        **{f"H100 {name}, unseen": lambda name=name: unseen(name) for name in ("forward", "bwd_data", "bwd_weight")},
    }
    for words, data in names.items():
        arch = "gfx950" if words.startswith("MI355X") else "sm_90"
        yield Line(
            "promising kernels", Place(RESULTS, "Sweeping only what is promising", words, (2, 2)),
            lambda data=data, arch=arch: kept(data(), arch, "--order", "estimate:1.35x"),
        )  # fmt: skip
    for direction in ("forward", "bwd_data", "bwd_weight"):
        for cell, order in (1, "estimate:auto"), (3, "model:auto"):
            yield Line(
                "until sure",
                Place(RESULTS, "Sweeping only what is promising", f"{direction}, until sure", (cell, cell)),
                lambda direction=direction, order=order: kept(unseen(direction), "sm_90", "--order", order),
            )


def own_models() -> Iterator[Line]:
    """The H200's models on problems that were measured later."""
    for kind, file in ("unseen", "unseen11"), ("odd", "unseen_odd12"):
        for direction in ("forward", "bwd_data", "bwd_weight"):
            yield Line(
                "the H200's models", Place(PROOF, "Models", f"{direction}, {kind}", (2, 7)),
                lambda direction=direction, file=file: efficiency(
                    f"models/grouped_conv_{direction}_bf16_sm90",
                    [H200 / f"{direction}.{file}.parquet"],
                    names="mean p10 min best3 fixed random",
                ),
            )  # fmt: skip


def mixtures() -> Iterator[Line]:
    """The estimate and the universal model on mixtures of experts."""

    def judged(model: str, names: str) -> list[float]:
        return efficiency(model, [elsewhere("moe_h200/bf16.csv.gz")], "--arch", "sm_90", names=names)

    for words, model, cells, names in (
        ("the estimate", "estimate", (1, 3), "mean p10 best3"),
        ("the built-in universal model, which has seen GEMMs only", "embedded:universal", (1, 1), "mean"),
        ("the best kernel for all problems", "estimate", (1, 1), "fixed"),
        ("a random kernel", "estimate", (1, 1), "random"),
    ):
        yield Line(
            "mixtures of experts", Place(MOE, "The estimate", words, cells),
            lambda model=model, names=names: judged(model, names),
        )  # fmt: skip
    unseen_models = [H200 / "moe" / "moe_triton_bf16.unseen.parquet"]
    three = "the best of the first three (mean) of the model; of the estimate"
    models = ("the model", "models/moe_bf16_sm90"), ("the estimate", "estimate")
    for part, (words, model) in enumerate(models):
        for place, names in (
            (Place(MOE, "Measured", words, (1, 1)), "mean p10 min"),
            (Place(MOE, "Measured", three, (1, 1), part), "best3"),
        ):
            yield Line(
                "mixtures of experts", place,
                lambda model=model, names=names: efficiency(model, unseen_models, "--arch", "sm_90", names=names),
            )  # fmt: skip
    yield Line(
        "mixtures of experts", Place(MOE, "Measured", "the best kernel for all (mean); a random one", (1, 1)),
        lambda: efficiency("estimate", unseen_models, "--arch", "sm_90", names="fixed random"),
    )  # fmt: skip
    fp8 = [H200 / "moe" / "moe_triton_fp8.unseen.parquet"]
    untrained = "--allow", "untrained", "--where", "dtype=fp8"
    for words, model, more, names in (
        ("the model in fp8", "models/moe_bf16_sm90", untrained, "mean p10 best3"),
        ("the universal model in fp8", "embedded:universal", (), "mean p10 best3"),
        ("the estimate in fp8", "estimate", (), "mean p10 best3"),
        ("the best kernel for all in fp8 (mean); a random one", "estimate", (), "fixed random"),
    ):
        yield Line(
            "mixtures of experts", Place(MOE, "Measured", words, (1, 1)),
            lambda model=model, more=more, names=names: efficiency(model, fp8, "--arch", "sm_90", *more, names=names),
        )  # fmt: skip


LINES = [
    line
    for lines in (
        *(measured_gpu(), unmeasured_gpu(), hundreds(), fastest(), aiter(), promising(), own_models(), mixtures()),
    )
    for line in lines
]

# Section of a document; day; where it was recorded and why it is not made here.
RECORDED = [
    (RESULTS, "With measurements of the GPU", "2026-11-23", "averages of seven divisions: seven trainings"),
    (RESULTS, "Without measurements of the GPU", "2026-11-24", "all but a direction: `train --folds direction`"),
    (RESULTS, "Pools of hundreds", "2026-11-29", "the universal model's folds by table, of the training in its card"),
    (RESULTS, "Winners of SGLang's tables", "2026-11-29", "the wheel of sglang 0.5.23"),
    (RESULTS, "With a few measurements", "2026-11-24", "hundreds of trainings; data/h100, and 15 seconds of a device"),
    (RESULTS, "Sweeping only what is promising", "2026-11-25", "orders by models of the other vendor"),
    (PROOF, "On your GPU", "2026-11-29", "times of a device: make prove-gpu"),
    (PROOF, "Choosing on the device", "2026-11-25", "times of a device: data/h100/select.txt"),
    (PROOF, "Tuning while it runs", "2026-11-25", "times of a device"),
    (MOE, "Measured", "2026-11-29", "tables as the engines look them up; data/h200/moe has the times"),
    (MOE, "The estimate", "2026-11-29", "constants chosen on the other models, five folds"),
]
