#![no_main]
//! Names and problems of attention, of the grammars' own words: what reads prints as it reads, and every pair
//! of the two has an answer, an estimate that is a time, or a reason.

use ck_select::estimate::{Device, Estimator};
use ck_select::kernel::{FmhaKernel, Kernel, KernelKind};
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;
use libfuzzer_sys::fuzz_target;

/// Words of the grammars, 64 of them; bytes from 128 on stand for themselves less 128.
const WORDS: &str = "fmha_ fwd_ bwd_ batch_ group_ fp16_ bf16_ fp8bf16_ fp32_ h128_ h64x128_ qr_ qr_async_ \
    qs_ t128x128x32x128x32x128_ b128x64x32x64x32x64_ w32x32x16_ r4x1x1_ pad1111_ pn_ psddv_ mask= no_ \
    bias= alibi_ bpc= -1 1 vr_ vc_ lse_ dropout_ skip_ qscale_ splitkv_ combine_ dot_do_o_ dq_dk_dv_ \
    convert_dq_ appendkv_ pagedkv_ async_ trload_ nlogits_ sink_ _ x 0 2 4 8 16 32 64 128 256 = , \
    batch= seqlen_q= seqlen_k= heads= hdim_q= dtype=";

fuzz_target!(|bytes: &[u8]| {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut text = String::new();
    for &byte in bytes {
        match words.get(usize::from(byte)) {
            Some(word) => text.push_str(word),
            None => text.push(char::from(byte & 127)),
        }
    }
    let (name, asked) = text.split_once('\n').unwrap_or((&text, ""));
    let kernel = Kernel::from_name(name).ok();
    if let Some(Kernel { kind: KernelKind::Fmha(kernel), .. }) = &kernel {
        let read = |name: &str| FmhaKernel::parse_name(name).expect("what was printed");
        assert_eq!(read(&kernel.identifier()).identifier(), kernel.identifier());
    }
    let Ok(problem) = Problem::parse(Op::Fmha, asked, &ProblemDefaults::new(Op::Fmha)) else { return };
    let printed = problem.to_string();
    assert_eq!(Problem::parse(Op::Fmha, &printed, &ProblemDefaults::new(Op::Fmha)).as_ref(), Ok(&problem));
    assert!(problem.flops() >= 0.0);
    let Some(kernel) = kernel else { return };
    let _ = (kernel.matches_request(&problem), kernel.matches_types(&problem));
    let device = Device::for_arch("gfx942".parse().expect("a known one")).expect("it has a profile");
    let estimator = Estimator::new(device);
    if let Ok(shape) = estimator.shape(&kernel.kind) {
        let load = estimator.load(&problem);
        let terms = estimator.terms(&load, &shape);
        assert!(terms.named.iter().all(|(_, us)| us.is_finite() && *us >= 0.0), "{name} {printed}");
    }
});
