//! Attention through the registry: rules, plans, the number of splits.

use ck_select::kernel::{FmhaKernel, FmhaTile, Kernel, KernelKind};
use ck_select::listing::ProblemList;
use ck_select::problem::{FmhaProblem, Problem, ProblemDefaults};
use ck_select::registry::{Options, Registry, SelectError, Source};
use ck_select::tuning::store::{Mode, Saved, Store};
use ck_select::vocab::{FmhaApi, FmhaFamily, FmhaMask, FmhaPipeline, Op};

use crate::common::{of_kernels, scope, winner};

fn kernel(family: FmhaFamily, hdim: u16, m0: u16) -> Kernel {
    let tile = FmhaTile { m0, n0: 64, k0: 32, n1: hdim, k1: 32, k0max: hdim };
    let pipeline =
        if family == FmhaFamily::FwdSplitkvCombine { FmhaPipeline::SplitkvCombine } else { FmhaPipeline::Qr };
    let mut kernel = FmhaKernel::plain(family, [hdim; 2], pipeline, tile);
    kernel.lse = family.api() == FmhaApi::FwdSplitkv;
    kernel.set_warp_tile([16, 16, 16]);
    Kernel { name: kernel.identifier(), kind: KernelKind::Fmha(kernel) }
}

fn registry(kernels: Vec<Kernel>) -> Registry {
    of_kernels(Options { arch: "gfx950".parse().ok(), ..Options::default() }, kernels)
}

fn decode(keys: i64) -> FmhaProblem {
    FmhaProblem { nhead_k: 8, ..FmhaProblem::new([1, keys], 32, 128) }
}

#[test]
fn only_kernels_that_support_the_problem_are_chosen() {
    let [small, large] = [16, 128].map(|m0| kernel(FmhaFamily::Fwd, 128, m0));
    let registry = registry(vec![small.clone(), large.clone(), kernel(FmhaFamily::Fwd, 64, 128)]);
    let chosen = |problem: FmhaProblem| {
        let selection = registry.select(&problem.into()).unwrap();
        assert_eq!(selection.source, Source::Estimate);
        selection.entry.name().to_owned()
    };
    let busy = FmhaProblem { batch: 64, ..decode(8192) };
    assert_eq!(chosen(busy), small.name, "one query wastes a tall tile");
    assert_eq!(chosen(FmhaProblem::new([8192, 8192], 32, 128)), large.name);
    for refused in [
        FmhaProblem { mask: FmhaMask::TopLeft, ..decode(8192) },
        FmhaProblem { hdim_q: 256, ..decode(8192) },
        FmhaProblem { dtype: "bf16".parse().unwrap(), ..decode(8192) },
    ] {
        let error = registry.select(&refused.into()).err().unwrap();
        assert!(matches!(error, SelectError::NoKernel { .. }), "{error}");
    }
    let empty = registry.select(&FmhaProblem { seqlen_k: 0, ..decode(1) }.into()).err().unwrap();
    assert_eq!(empty.to_string(), "problem: seqlen_k: found 0, expected at least 1, or a max_seqlen_k");
}

#[test]
fn splits_are_chosen_where_both_stages_have_a_kernel() {
    let split = kernel(FmhaFamily::FwdSplitkv, 128, 16);
    let both = registry(vec![split.clone(), kernel(FmhaFamily::FwdSplitkvCombine, 128, 32)]);
    let asked = FmhaProblem { lse: true, ..decode(65_536) };
    assert!(both.fmha_splits(&asked, 64) > 4, "32 workgroups and a long cache leave a device idle");
    assert_eq!(both.fmha_splits(&asked, 1), 1);
    let full = FmhaProblem { batch: 64, seqlen_q: 4096, seqlen_k: 4096, ..asked };
    assert_eq!(both.fmha_splits(&full, 64), 1);
    assert_eq!(registry(vec![split]).fmha_splits(&asked, 64), 1);
}

/// What a process asked for can be asked again; a rule and a stored winner of attention are followed.
#[test]
fn problems_are_captured_overridden_and_stored() {
    let folder = tempfile::tempdir().unwrap();
    let [seen, rules, store] = ["seen.txt", "rules.txt", "winners.db"].map(|name| folder.path().join(name));
    let [small, large] = [16, 128].map(|m0| kernel(FmhaFamily::Fwd, 128, m0));
    let (plain, ruled) = (FmhaProblem::new([8192, 8192], 32, 128), FmhaProblem::new([4096, 4096], 32, 128));
    std::fs::write(&rules, format!("{ruled} -> {}\n", small.name)).unwrap();
    let options = Options {
        arch: "gfx950".parse().ok(),
        capture: Some(seen.clone()),
        override_file: Some(rules),
        ..Options::default()
    };
    let registry = of_kernels(options, [small.clone(), large.clone()]);
    let chosen = |problem: FmhaProblem| {
        let selection = registry.select(&problem.into()).unwrap();
        (selection.source, selection.entry.name().to_owned())
    };
    assert_eq!(chosen(plain), (Source::Estimate, large.name.clone()));
    assert_eq!(chosen(ruled), (Source::Override, small.name.clone()));
    let text = std::fs::read(&seen).unwrap();
    let list = ProblemList::parse("seen", &text, Op::Fmha, &ProblemDefaults::new(Op::Fmha)).unwrap();
    let problems: Vec<Problem> = list.problems.iter().map(|one| one.problem).collect();
    assert_eq!(problems, [plain.into(), ruled.into()]);

    let (scope, winner) = (scope(), winner(&small.name));
    let causal = FmhaProblem { mask: FmhaMask::TopLeft, ..plain };
    let open = || Store::open(&store, Mode::ReadWrite).unwrap().winners(scope.clone()).unwrap();
    assert_eq!(open().put(&causal.into(), &winner), Ok(Saved::Disk));
    let reopened = open();
    let stored = reopened.snapshot();
    assert_eq!(&*stored.get(&causal.into()).unwrap().kernel, small.name);
    assert!(stored.get(&plain.into()).is_none(), "another mask is another problem");
}

#[test]
fn terms_add_up_and_are_named() {
    let registry = registry(vec![kernel(FmhaFamily::Fwd, 128, 128)]);
    let told = registry.explain(&Problem::from(decode(4096))).unwrap();
    for term in ["products", "softmax", "second_stage"] {
        assert!(told.contains(term), "{told}");
    }
}
