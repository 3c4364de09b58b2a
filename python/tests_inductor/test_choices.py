"""Inductor's choices with ``ck_select.inductor`` in front, in this environment's torch, for a GPU that is not there."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import operator
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import sympy
import torch
from torch._inductor import choices as torch_choices
from torch._inductor import config, ir, select_algorithm
from torch._inductor.graph import GraphLowering
from torch._inductor.kernel import bmm, mm
from torch._inductor.kernel_inputs import MMKernelInputs
from torch._inductor.virtualized import V

import ck_select
import ck_select.inductor as ours
from ck_select.inductor import choices as seam
from ck_select.triton import Kernel

H200 = SimpleNamespace(
    name="H200",
    major=9,
    minor=0,
    multi_processor_count=132,
    clock_rate=1980000,
    gcnArchName="",
    memory_clock_rate=3201000,
    memory_bus_width=6144,
    warp_size=32,
    L2_cache_size=60 << 20,
    shared_memory_per_block_optin=227 << 10,
    regs_per_multiprocessor=65536,
    total_memory=141 << 30,
    max_threads_per_multi_processor=2048,
    shared_memory_per_multiprocessor=228 << 10,
)
DEVICE = torch.device("cuda", 0)


class Caller:
    """What Inductor makes of a candidate, and times."""

    def __init__(self, **chosen):
        vars(self).update(chosen)


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """A device that answers what is asked of it, and candidates that are not generated."""
    for name, answer in {
        **{"is_available": lambda: True, "current_device": lambda: 0, "get_device_properties": lambda *_: H200},
        **{"get_device_capability": lambda *_: (9, 0), "device_count": lambda: 1},
    }.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    seam._WARNED.clear()
    for template in (
        mm.mm_template,
        mm.persistent_tma_mm_template,
        bmm.bmm_template,
        mm.scaled_mm_device_tma_epilogue_scaling_template,
    ):
        monkeypatch.setattr(template, "choice_or_none", Caller)
    with config.patch(max_autotune=True):
        yield
    while ours.is_enabled():
        ours.disable()


@contextlib.contextmanager
def graph():
    """What Inductor works on."""
    traced = torch.fx.symbolic_trace(torch.nn.Identity())
    with V.set_graph_handler(GraphLowering(traced)):
        yield V.graph


def matrix(name, *size, dtype=torch.bfloat16, transposed=False):
    *batch, rows, columns = size
    inner = [1, rows] if transposed else [columns, 1]
    strides = [rows * columns] * len(batch) + inner
    return ir.InputBuffer(name=name, layout=ir.FixedLayout(DEVICE, dtype, list(size), strides))


def inputs(m, n, k, *batch, dtype=torch.bfloat16, bias=False, out_dtype=None):
    nodes = [matrix("a", *batch, m, k, dtype=dtype), matrix("b", *batch, k, n, dtype=dtype, transposed=True)]
    if bias:
        nodes.insert(0, matrix("c", *batch, m, n, dtype=dtype))
    return MMKernelInputs(nodes, {"alpha": 1, "beta": 1}, out_dtype)


def candidates(templates, op, *shape, **options):
    """The parameters of Triton's candidates, and the number of the others."""
    with graph():
        kernel_inputs = options.pop("inputs", None) or inputs(*shape, **options)
        choices = V.choices
        generators = {of.uid: choices.get_ktc(kernel_inputs, of, op) for of in templates}
        listed = choices._finalize_template_configs(generators, kernel_inputs, templates, op)
    tritons = [each for each in listed if hasattr(each.template, "choice_or_none") and "triton" in each.template.uid]
    return tritons, len(listed) - len(tritons)


def tiles(tritons):
    return [operator.itemgetter("BLOCK_M", "BLOCK_N", "BLOCK_K")(each.params.to_kwargs()) for each in tritons]


SHAPE = (384, 3584, 18944)


def test_the_first_of_the_exhaustive_list_are_tried_beside_atens():
    templates = [mm.aten_mm, mm.mm_template]
    stock, others = candidates(templates, "mm", *SHAPE)
    assert others == 1 and len(stock) > 10
    with config.patch(max_autotune_gemm_search_space="EXHAUSTIVE"):
        everything, _ = candidates(templates, "mm", *SHAPE)
    assert len(everything) > 300
    with ours.enable(top=4):
        four, others = candidates(templates, "mm", *SHAPE)
        assert (len(four), others) == (4, 1)
        assert set(tiles(four)) <= set(tiles(everything))
        # What is expected of this shape on an H200: large tiles.
        assert all(m * n >= 128 * 64 for m, n, _ in tiles(four))
    with ours.enable(top=8):
        eight, _ = candidates(templates, "mm", *SHAPE)
    assert tiles(eight)[:4] == tiles(four) and len(eight) == 8
    assert tiles(candidates(templates, "mm", *SHAPE)[0]) == tiles(stock)


def test_other_threads_begin_and_end_with_the_block():
    """Autograd's thread, which compiles backward passes, had our candidates after the block, too."""
    templates = [mm.aten_mm, mm.mm_template]

    def tried(thread):
        # Since torch 2.12 settings are the context's, which a thread has to be given.
        context = contextvars.copy_context()
        return len(thread.submit(context.run, candidates, templates, "mm", *SHAPE).result()[0])

    early, thread, late = (ThreadPoolExecutor(1) for _ in range(3))
    with early, thread, late:
        stock = tried(early)
        assert stock > 10
        with ours.enable(top=3):
            assert tried(thread) == tried(early) == 3
        assert tried(early) == tried(thread) == tried(late) == stock
        with ours.enable(top=2):
            assert tried(early) == tried(thread) == tried(late) == 2


def test_as_many_are_tried_as_have_to_be():
    templates = [mm.aten_mm, mm.mm_template]
    with config.patch(max_autotune_gemm_search_space="EXHAUSTIVE"):
        everything, _ = candidates(templates, "mm", *SHAPE)
    with ours.enable(top="sure", model="estimate"):
        few, others = candidates(templates, "mm", *SHAPE)
    assert 1 < len(few) < len(everything) and others == 1


def test_without_autotuning_nothing_changes():
    templates = [mm.aten_mm, mm.mm_template]
    with config.patch(max_autotune=False, max_autotune_gemm=False):
        stock, _ = candidates(templates, "mm", *SHAPE)
        with ours.enable(top=1):
            assert tiles(candidates(templates, "mm", *SHAPE)[0]) == tiles(stock)


def test_every_operation_and_template_is_ranked():
    with ours.enable(top=3):
        for templates, op, options in (
            ([mm.aten_addmm, mm.mm_template], "addmm", {"bias": True}),
            ([mm.aten_mm, mm.mm_template, mm.persistent_tma_mm_template], "mm", {}),
            ([mm.mm_template], "mm", {"dtype": torch.float16}),
        ):
            assert len(candidates(templates, op, *SHAPE, **options)[0]) == 3, op
        for op in "bmm", "baddbmm":
            batched, _ = candidates([bmm.bmm_template], op, 64, 64, 512, 96, bias=op == "baddbmm")
            assert len(batched) == 3


def scaled_inputs():
    a, b = (
        matrix("a", *(SHAPE[0], SHAPE[2]), dtype=torch.float8_e4m3fn),
        matrix("b", SHAPE[2], SHAPE[1], dtype=torch.float8_e4m3fn, transposed=True),
    )
    scales = [matrix(name, 1, 1, dtype=torch.float32) for name in ("scale_a", "scale_b")]
    return MMKernelInputs([a, b, *scales], mat1_idx=0, mat2_idx=1, out_dtype=torch.bfloat16)


def test_scaled_products_of_fp8_are_ranked():
    with graph():
        kernel_inputs = scaled_inputs()
    with ours.enable(top=3):
        found, _ = candidates([mm.mm_template], "scaled_mm", inputs=kernel_inputs)
    assert len(found) == 3


def test_persistent_kernels_and_descriptors_have_their_names(caplog):
    with ours.enable(top=2), caplog.at_level(logging.INFO, "torch._inductor.ck_select"):
        candidates([mm.aten_mm, mm.persistent_tma_mm_template], "mm", *SHAPE)
    names = caplog.messages[-1].split()[-2:]
    kernels = [Kernel.parse(name) for name in names]
    assert all(kernel.persistent and kernel.tma for kernel in kernels)


def test_a_line_a_shape_says_what_was_chosen(caplog):
    with ours.enable(top=2), caplog.at_level(logging.INFO, "torch._inductor.ck_select"):
        candidates([mm.aten_mm, mm.mm_template], "mm", *SHAPE)
    (line,) = caplog.messages
    assert line.startswith("ck_select: mm 384x3584x18944 bf16 rcr: 2 of ") and " candidates in " in line
    assert line.count("triton_gemm_bf16_rcr_") == 2


def test_unknown_extents_count_by_their_hints():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with graph() as lowering, ours.enable(top=3):
        lowering.sizevars.shape_env = env = ShapeEnv()
        from torch._dynamo.source import ConstantSource

        symbol = env.create_symbol(384, ConstantSource("m"))
        rows = sympy.sympify(symbol)
        nodes = [matrix("a", rows, SHAPE[2]), matrix("b", SHAPE[2], SHAPE[1], transposed=True)]
        lowering.sizevars = type(lowering.sizevars)(env)
        templates = [mm.aten_mm, mm.mm_template]
        kernel_inputs = MMKernelInputs(nodes)
        generators = {of.uid: V.choices.get_ktc(kernel_inputs, of, "mm") for of in templates}
        listed = V.choices._finalize_template_configs(generators, kernel_inputs, templates, "mm")
        known = candidates(templates, "mm", *SHAPE)[0]
    assert len(listed) == 4
    assert tiles(listed[1:]) == tiles(known)


@pytest.mark.parametrize("options", [{"dtype": torch.float32}, {"dtype": torch.float64}])
def test_what_nothing_was_measured_of_is_left_alone(options, caplog):
    templates = [mm.aten_mm, mm.mm_template]
    stock = candidates(templates, "mm", 64, 64, 64, **options)
    with ours.enable(top=1):
        assert tiles(candidates(templates, "mm", 64, 64, 64, **options)[0]) == tiles(stock[0])
    with ours.enable(top=1):
        assert len(candidates(templates, "mm_plus_mm", 64, 64, 64)[0]) == len(
            candidates(templates, "mm", 64, 64, 64, **options)[0]
        )
    assert not caplog.records


@pytest.mark.parametrize("broken", ["problem_of", "first", "name_of", "_whole_space"])
def test_an_error_of_ours_is_a_warning_and_the_stock_list(broken, monkeypatch, caplog):
    templates = [mm.aten_mm, mm.mm_template]
    stock = candidates(templates, "mm", *SHAPE)

    def fails(*_):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(seam, broken, fails)
    with ours.enable(top=2):
        for _ in range(3):
            found = candidates(templates, "mm", *SHAPE)
            expected = 2 if broken == "_whole_space" else len(stock[0])
            assert (len(found[0]), found[1]) == (expected, stock[1])
    (warning,) = [each for each in caplog.records if each.name == "ck_select"]
    assert "Inductor's own candidates are taken: RuntimeError: broken on purpose" in warning.getMessage()


def shapes_without_hints():
    """A product whose rows nobody knows before it runs, as of ``nonzero``."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    V.graph.sizevars = type(V.graph.sizevars)(env)
    rows = env.create_unbacked_symint().node.expr
    return MMKernelInputs([matrix("a", rows, SHAPE[2]), matrix("b", SHAPE[2], SHAPE[1], transposed=True)])


def vanished_model(tmp_path):
    """Settings of a model whose directory is there when they are made, and not when it is read."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "spec.json").write_text("{}")
    settings = {"model": str(tmp_path / "model")}
    return settings, lambda: shutil.rmtree(tmp_path / "model")


def torn_model(tmp_path):
    settings, _ = vanished_model(tmp_path)
    return settings, lambda: None


def unknown_gpu(_):
    return {"arch": "sm_12345"}, lambda: None


@pytest.mark.parametrize("attack", [vanished_model, torn_model, unknown_gpu])
def test_what_cannot_be_ranked_is_a_warning_and_the_stock_list(attack, tmp_path, caplog):
    templates = [mm.aten_mm, mm.mm_template]
    stock, others = candidates(templates, "mm", *SHAPE)
    settings, happens = attack(tmp_path)
    with ours.enable(top=2, **settings):
        happens()
        for _ in range(2):
            found = candidates(templates, "mm", *SHAPE)
            assert (tiles(found[0]), found[1]) == (tiles(stock), others)
    (warning,) = [each for each in caplog.records if each.name == "ck_select"]
    assert "Inductor's own candidates are taken: " in warning.getMessage()


def test_shapes_without_hints_break_nothing(caplog):
    templates = [mm.aten_mm, mm.mm_template]

    def listed():
        with graph():
            kernel_inputs = shapes_without_hints()
            choices = V.choices
            generators = {of.uid: choices.get_ktc(kernel_inputs, of, "mm") for of in templates}
            return choices._finalize_template_configs(generators, kernel_inputs, templates, "mm")

    stock = listed()
    with ours.enable(top=2):
        found = listed()
    # Some releases of torch have a usual hint for such an extent, others none.
    assert len(found) in (3, len(stock))


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 0, 64), (64, 64, 0)])
def test_empty_products_break_nothing(shape):
    templates = [mm.aten_mm, mm.mm_template]
    stock, others = candidates(templates, "mm", *shape)
    with ours.enable(top=2):
        found = candidates(templates, "mm", *shape)
    assert found[1] == others and len(found[0]) in (min(2, len(stock)), len(stock))


def test_tensors_of_no_gpu_are_left_alone(monkeypatch, caplog):
    monkeypatch.setattr(sys.modules[__name__], "DEVICE", torch.device("meta"))
    with graph(), ours.enable(top=2):
        assert seam.problem_of(inputs(*SHAPE), "mm") is None
    assert not caplog.records


def test_parameters_that_nobody_knows_change_nothing(monkeypatch, caplog):
    templates = [mm.aten_mm, mm.mm_template]
    with ours.enable(top=4):
        four = tiles(candidates(templates, "mm", *SHAPE)[0])
        own = seam.parameters
        monkeypatch.setattr(
            seam, "parameters", lambda choice: (found := own(choice)) and {**found, "NEW_KNOB": object()}
        )
        assert tiles(candidates(templates, "mm", *SHAPE)[0]) == four
    assert not caplog.records


def test_candidates_that_cannot_be_generated_are_passed_over(monkeypatch):
    templates = [mm.aten_mm, mm.mm_template]
    with ours.enable(top=4):
        four = tiles(candidates(templates, "mm", *SHAPE)[0])
        monkeypatch.setattr(
            mm.mm_template,
            "choice_or_none",
            lambda **of: None if (of["BLOCK_M"], of["BLOCK_N"], of["BLOCK_K"]) == four[0] else SimpleNamespace(**of),
        )
        found = tiles(candidates(templates, "mm", *SHAPE)[0])
    assert len(found) == 4 and four[0] not in found


class Others(torch_choices.InductorChoices):
    """A class that is there before."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def _finalize_template_configs(self, *arguments, **others):
        self.asked += 1
        return super()._finalize_template_configs(*arguments, **others)

    def triton_kernel_kwargs(self, kernel_cls, features, groups, kernel_kwargs):
        return {**kernel_kwargs, "other": True}

    def uuid(self):
        return "others"


def test_a_class_that_is_there_keeps_its_say(monkeypatch):
    others = Others()
    with V.set_choices_handler(others), config.patch(inductor_choices_class=Others):
        with ours.enable(top=2):
            found, _ = candidates([mm.aten_mm, mm.mm_template], "mm", *SHAPE)
            assert len(found) == 2 and others.asked == 1
            assert V.choices.triton_kernel_kwargs(None, None, [], {}) == {"other": True}
            assert V.choices.uuid()[-1] == "others" and isinstance(V.choices, Others)
            # Another thread makes its own.
            made = config.inductor_choices_class()
            assert isinstance(made, Others) and made.uuid() == V.choices.uuid()
        assert V.choices is others and config.inductor_choices_class is Others


class Watching(Others):
    """Sees with which settings candidates are listed."""

    def get_ktc(self, *arguments, **others):
        self.saw = (config.max_autotune_gemm_search_space, getattr(config.rocm, "origami", None))
        return super().get_ktc(*arguments, **others)


def test_everything_is_listed_and_nobody_else_chooses_from_it():
    has_origami = hasattr(config.rocm, "origami")
    watching = Watching()
    with V.set_choices_handler(watching), config.patch({"rocm.origami": True} if has_origami else {}):
        with ours.enable(top=2):
            candidates([mm.mm_template], "mm", *SHAPE)
            assert watching.saw == ("EXHAUSTIVE", False if has_origami else None)
        candidates([mm.mm_template], "mm", *SHAPE)
        assert watching.saw == ("DEFAULT", True if has_origami else None)


class Sealed(torch_choices.InductorChoices):
    """A class that no other can be derived from."""

    def __init_subclass__(cls):
        raise TypeError("sealed")

    def uuid(self):
        return "sealed"


def test_a_class_that_cannot_be_wrapped_stays_alone(caplog):
    plain = V.set_choices_handler(torch_choices.InductorChoices())
    with config.patch(inductor_choices_class=Sealed), plain, ours.enable(top=2):
        # As another thread makes its handler.
        assert type(config.inductor_choices_class()) is Sealed
    assert "Inductor's own candidates are taken: TypeError: sealed" in caplog.text


CAN_REGISTER = hasattr(torch_choices, "register_inductor_choices")


def test_classes_can_be_registered_since_torch_2_15():
    release = [int(part) for part in torch.__version__.split(".")[:2]]
    assert (release >= [2, 15]) == CAN_REGISTER


if CAN_REGISTER:

    def test_registered_classes_keep_their_say():
        torch_choices.register_inductor_choices("others", Others)
        try:
            with ours.enable(top=2):
                found, _ = candidates([mm.aten_mm, mm.mm_template], "mm", *SHAPE)
                assert len(found) == 2
                assert V.choices.triton_kernel_kwargs(None, None, [], {}) == {"other": True}
        finally:
            torch_choices.unregister_inductor_choices("others")


def key():
    """What Inductor's cache key has of the configuration."""
    return pickle.dumps(config.save_config_portable()["inductor_choices_class"])


def test_settings_are_part_of_the_cache_key():
    keys = [key()]
    for settings in {"top": 4}, {"top": "sure"}, {"top": 4, "arch": "sm_80"}, {"top": 4, "model": "estimate"}:
        with ours.enable(**settings):
            keys += [key()]
            assert key() == keys[-1]
    with ours.enable(top=4):
        assert key() == keys[1]
    assert len(set(keys)) == 5 and key() == keys[0]


def test_blocks_nest_and_end():
    with ours.enable(top=2):
        with ours.enable(top=1):
            assert len(candidates([mm.mm_template], "mm", *SHAPE)[0]) == 1
        assert ours.is_enabled() and len(candidates([mm.mm_template], "mm", *SHAPE)[0]) == 2
    assert not ours.is_enabled()
    ours.disable()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="top: found"):
            ours.enable(top=wrong)


def test_a_torch_that_chooses_otherwise_is_refused(monkeypatch):
    monkeypatch.delattr(torch_choices.InductorChoices, "_finalize_template_configs")
    with pytest.raises(RuntimeError, match="has no InductorChoices._finalize_template_configs"):
        ours.enable()
    assert not ours.is_enabled()


@pytest.mark.parametrize(("word", "expected"), [("4", "4"), ("sure", "sure"), ("", "None"), ("many", "None")])
def test_the_variable_enables_it_where_torch_is_imported(word, expected, tmp_path):
    installed = tmp_path / "ck_select-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: ck-select\nVersion: 0\n")
    (installed / "entry_points.txt").write_text("[torch.backends]\nck_select = ck_select_autoload:autoload\n")
    program = (
        "import torch, sys; loaded = 'ck_select' in sys.modules; from torch._inductor import config;"
        "made = config.inductor_choices_class; print(made and made.settings.top, loaded)"
    )
    path = f"{tmp_path}:{os.environ['PYTHONPATH']}"
    environment = {**os.environ, "CK_SELECT_INDUCTOR": word, "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert ran.stdout.split() == [expected, str(word != "")], ran.stderr
    assert ("own candidates are taken" in ran.stderr) == (word == "many")


def test_the_check_says_what_is_missing():
    ran = subprocess.run(
        [sys.executable, "-m", "ck_select.inductor", "--check"], capture_output=True, text=True, check=False
    )
    lines = dict(line.split(": ", 1) for line in ran.stdout.splitlines() if ": " in line)
    assert ran.returncode == 1 and lines["torch"].startswith(torch.__version__), ran.stderr
    assert lines["GPU"].startswith("missing: ") and "finds no GPU" in lines["GPU"]


def test_the_check_says_what_would_be_done(capsys):
    from ck_select.inductor.__main__ import main

    assert main(["--check"]) == 0
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line)
    assert lines["GPU"].startswith("sm_90 {'based_on': 'sm_90', 'num_cus': 132")
    assert lines["order"].startswith("bf16 384x3584x18944: tiles 128x")


def test_what_is_timed_is_a_sweep(tmp_path, monkeypatch):
    sweep = tmp_path / "sweep.csv"
    templates = [mm.aten_mm, mm.mm_template]
    listeners = select_algorithm.get_algorithm_selector_cache().feedback_saver_fns

    def autotunes(shape, op="mm", templates=templates, **options):
        found, _ = candidates(templates, op, *shape, **options)
        # As Inductor calls listeners; a kernel that failed has no time, and one of ATen's no candidate with blocks.
        timings = {each.choice: 0.1 * (1 + place) for place, each in enumerate(found)}
        timings |= {Caller(annotations=found[0].choice.annotations): float("inf"), Caller(): 0.2}
        with graph():
            for listener in listeners:
                listener(timings, op, [], list(timings), None, {})

    with ours.enable(top=3):
        autotunes(SHAPE)
    assert not sweep.exists()
    with ours.enable(top=3, record=sweep):
        autotunes(SHAPE)
        autotunes((64, 64, 512, 96), "bmm", [bmm.bmm_template])
    autotunes(SHAPE)
    lines = sweep.read_text().splitlines()
    assert lines[0].startswith("kernel_name,m,n,k,") and len(lines) == 1 + 3 + 3
    first = dict(zip(lines[0].split(","), lines[1].split(",")))
    assert (first["m"], first["n"], first["k"], first["arch"]) == ("384", "3584", "18944", "sm_90")
    assert float(first["tflops"]) == pytest.approx(2 * 384 * 3584 * 18944 / 1e8)
    assert Kernel.parse(first["kernel_name"]).dtype == "bf16" and "_batched" in lines[-1]
    rows = ck_select.report(sweep)
    assert rows
    monkeypatch.setattr(ours._record, "rows_of", operator.getitem)
    with ours.enable(top=3, record=sweep):
        autotunes(SHAPE)
    assert sweep.read_text().splitlines() == lines


@pytest.fixture
def instances():
    """Choices with the instances of CK Tile in this torch that take bf16 in rcr."""
    from torch._inductor.codegen.rocm.ck_tile_universal_gemm_template import ops

    return [
        SimpleNamespace(
            info_kwargs={"op": instance, "kBatch": parts},
            bmreq=SimpleNamespace(extra_args=[*SHAPE, 1, 1, 1, parts]),
            template=SimpleNamespace(),
            layout=SimpleNamespace(device=DEVICE),
        )
        for instance in ops()
        if (instance.datatype_a, instance.layout_b) == ("BF16", "Col")
        for parts in (1, 2, 4)
        if instance.epilogue == "CShuffle" or parts == 1
    ]


def preprocessed(choices):
    """What Inductor would compile of choices."""
    for function in select_algorithm.get_algorithm_selector_cache().preprocessing_fns:
        if function is seam.few_instances:
            choices = function(choices)
    return choices


def test_the_first_instances_of_ck_are_compiled(instances, caplog):
    assert len(instances) > 100
    choices = [SimpleNamespace(name="mm"), *instances]
    with ours.enable(top=4, arch="gfx942"), caplog.at_level(logging.INFO, "torch._inductor.ck_select"):
        candidates([mm.aten_mm, mm.mm_template], "mm", *SHAPE)
        few = preprocessed(choices)
        assert len(few) == 5 and few[0] is choices[0] and set(map(id, few)) <= set(map(id, choices))
        assert preprocessed(few) == few
    assert f"4 of {len(instances)} instances of CK: gemm_universal_bf16_rcr_" in caplog.messages[-1]
    assert preprocessed(choices) == choices
    # It is asked once, however often a product is compiled.
    known = select_algorithm.get_algorithm_selector_cache().preprocessing_fns
    assert known.count(seam.few_instances) == 1


def test_an_error_with_instances_is_a_warning_and_all_of_them(instances, monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(seam.ck, "first", fails)
    with ours.enable(top=4, arch="gfx942"):
        candidates([mm.aten_mm, mm.mm_template], "mm", *SHAPE)
        assert preprocessed(instances) == preprocessed(instances) == instances
    (warning,) = [each for each in caplog.records if each.name == "ck_select"]
    assert "all instances of CK are tried: RuntimeError: broken on purpose" in warning.getMessage()
