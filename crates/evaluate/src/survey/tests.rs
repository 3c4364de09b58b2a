use std::fmt::Write as _;

use ck_select_types::vocab::Op;

use super::*;
use ck_select_measurements::RowScope;

const HEADER: &str = "kernel,problem_idx,C,K,Hi,Wi,Y,X,latency_ms,tflops,error_msg\n";

fn kernel(depth: u32) -> String {
    format!("grouped_conv_forward_bf16_2d_16x64x{depth}_compv3")
}

/// Rows of (number, channels, depth of the tile, TFLOPS or the reason why there are none).
pub(crate) fn measured(name: &str, rows: &[(u32, u32, u32, Result<f64, &str>)]) -> Measurements {
    let wanted = RowScope { arch: Some("gfx942".parse().unwrap()), ..RowScope::all(Op::Conv) };
    let mut text = HEADER.to_owned();
    for (number, channels, depth, speed) in rows {
        let (latency, tflops, error) = match speed {
            Ok(tflops) => (format!("{}", 1.0 / tflops), *tflops, ""),
            Err(error) => ("N/A".to_owned(), 0.0, *error),
        };
        writeln!(text, "{},{number},{channels},64,8,8,1,1,{latency},{tflops},{error}", kernel(*depth))
            .unwrap();
    }
    let mut measurements = Measurements::new(wanted);
    measurements.add_text(name, text.as_bytes()).unwrap();
    measurements
}

#[test]
fn a_survey_counts_what_was_measured() {
    let measurements = measured(
        "a.csv",
        &[
            (0, 64, 32, Ok(10.0)),
            (0, 64, 64, Ok(8.0)),
            (1, 128, 32, Err("crash: signal 11")),
            (1, 128, 64, Ok(5.0)),
            (2, 256, 32, Ok(10.0)),
            (2, 256, 64, Err("timeout")),
            (2, 256, 128, Err("crash: signal 6")),
            // Measured again, slower.
            (3, 64, 32, Ok(5.0)),
            (3, 64, 64, Ok(8.0)),
        ],
    );
    let survey = Survey::new(&measurements, Vec::new()).unwrap();
    assert_eq!(survey.trials.len(), 4);
    let kernels: Vec<_> =
        survey.kernels.iter().map(|one| (one.ran, one.wins, one.near, one.failed)).collect();
    assert_eq!(kernels, [(3, 2, 2, 1), (3, 2, 2, 1), (0, 0, 0, 1)]);
    let classes: Vec<_> =
        survey.failures.iter().map(|one| (one.class.as_str(), one.rows, one.kernels)).collect();
    assert_eq!(classes, [("crash", 2, 2), ("timeout", 1, 1)]);
    assert_eq!(survey.failures[0].last, "crash: signal 6");
    let coverage = &survey.coverage;
    assert_eq!((coverage.rows, coverage.measured, coverage.possible), (9, 4, 9));
    let noise = &survey.noise;
    assert_eq!((noise.repeated, noise.worst[0].ratio, noise.worst[0].times), (2, 2.0, 2));
    assert_eq!(survey.run_ms, 0.1 + 0.1 + 0.2 + (0.125 + 0.2 + 0.125));
}

/// By hand: 128 channels to 64 over 64 pixels in bf16 are 2 * 64 * 64 * 128 operations and 2 * (64 * 128 + 64
/// * 128 + 64 * 64) bytes.
#[test]
fn a_roofline_is_of_the_devices_peaks() {
    let survey = Survey::new(&measured("a.csv", &[(0, 128, 32, Ok(10.0))]), Vec::new()).unwrap();
    let roofline = survey.roofline.unwrap();
    assert_eq!(roofline.memory_gb_s, 5300.0);
    assert_eq!(roofline.roofs.len(), 1);
    assert_eq!(roofline.roofs[0].tflops, 1024.0 * 2.0 * 228.0 * 2100.0 / 1e6);
    let point = roofline.points[0];
    assert_eq!(point.intensity, 1_048_576.0 / 40_960.0);
    assert_eq!(point.roof, point.intensity * 5.3);
    assert_eq!(point.share(), 10.0 / point.roof);
    assert!(point.is_bound_by_memory(roofline.peak()));
}
