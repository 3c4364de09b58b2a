//! The feature `hip-link`: the real runtime, linked. Without a GPU the search says so, and the chain goes on.

use std::io::Write as _;

use ck_select::kernel::Kernel;
use ck_select::problem::{ConvProblem, Problem};
use ck_select::registry::{Mode, Options, Priority, Registry, Source, UserData};
use ck_select::tuning::device::Stream;
use ck_select::tuning::hip::{Hip, HipError};
use ck_select::tuning::search::RunOutcome;

#[test]
fn the_linked_runtime_answers_and_the_chain_goes_on() {
    let hip = Hip::get().unwrap();
    assert_eq!(hip.library(), "the linked libamdhip64");
    let device = hip.current_device();
    let options = Options { mode: Mode::Search, store: Some("off".into()), ..Options::default() };
    let registry = Registry::new(options).unwrap();
    let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x64x64_compv3").unwrap();
    let run = |_: &Problem, _: Stream| RunOutcome::Milliseconds(1.0);
    registry.add(kernel, Priority::NORMAL, UserData::default(), Some(Box::new(run))).unwrap();
    let problem = ConvProblem::new_2d([8, 8], [1, 1]).into();
    let selection = registry.select(&problem).unwrap();
    let explained = registry.explain(&problem).unwrap();
    let ran = match &device {
        Ok(device) => {
            assert_eq!(selection.source, Source::Search);
            format!("{device:?}")
        }
        Err(error) => {
            assert!(matches!(error, HipError::NoDevice { .. }), "{error}");
            assert!(error.to_string().ends_with("finds no device: hipErrorNoDevice (100)"), "{error}");
            assert!(explained.contains(&error.to_string()), "{explained}");
            assert_eq!(selection.source, Source::Priority);
            error.to_string()
        }
    };
    // Past the test's captured output: whether a device was there must be seen.
    let _ = writeln!(std::io::stderr(), "linked HIP runtime: {ran}");
}
