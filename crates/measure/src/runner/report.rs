//! What a benchmark executable prints: one JSON object, possibly among other text.

use ck_select::operation::Operation;
use ck_select::problem::Problem;
use ck_select_measurements::outcome::{Failure, FailureClass, Measurement};
use serde_json::Value;

/// The measurement in an executable's output.
///
/// The last object with a `perf_result` counts. It must match this kernel and problem where it names them. A
/// number that JSON cannot represent (C++ streams print `nan` and `inf`) makes it a result without a time.
pub(super) fn parse(output: &[u8], kernel: &str, problem: &Problem) -> Result<Measurement, Failure> {
    let text = String::from_utf8_lossy(output);
    let Some((object, odd)) = last_result(&text) else {
        let message = if output.is_empty() {
            "it printed nothing, expected JSON with 'perf_result'".to_owned()
        } else {
            format!("expected JSON with 'perf_result', found: {text}")
        };
        return Err(Failure::new(FailureClass::Garbage, message));
    };
    check(&object, kernel, problem)?;
    let result = &object["perf_result"];
    let number = |key: &str| result[key].as_f64();
    let not_a_time = |text: String| Failure::new(FailureClass::NotATime, text);
    let latency_ms = match number("latency(ms)") {
        Some(ms) if ms > 0.0 => ms,
        Some(ms) => return Err(not_a_time(format!("latency(ms) is {ms}"))),
        None if odd => return Err(not_a_time("latency(ms) is not a finite number".to_owned())),
        None => return Err(Failure::new(FailureClass::Garbage, "perf_result has no number 'latency(ms)'")),
    };
    let computed = Measurement::new(latency_ms, problem.flops());
    Ok(Measurement {
        tflops: number("tflops(TFlops)").filter(|&tflops| tflops > 0.0).unwrap_or(computed.tflops),
        bandwidth_gb_s: number("bandwidth(GB/s)").filter(|&rate| rate >= 0.0),
        ..computed
    })
}

/// The last object with a `perf_result`, and whether the text had numbers that JSON cannot represent.
fn last_result(text: &str) -> Option<(Value, bool)> {
    let has_result = |value: &Value| value.get("perf_result").is_some_and(Value::is_object);
    let mut result = None;
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let value = values.next().and_then(Result::ok);
        from = match value {
            Some(value) => {
                let end = at + values.byte_offset();
                if has_result(&value) {
                    result = Some((value, false));
                }
                end
            }
            None => at + 1,
        };
    }
    result.or_else(|| {
        let finite = without_odd_numbers(text)?;
        last_result(&finite).map(|(value, _)| (value, true))
    })
}

/// The text with `null` in place of the values `nan` and `inf`; `None` if there are none.
fn without_odd_numbers(text: &str) -> Option<String> {
    const ODD: [&str; 6] = ["infinity", "-infinity", "nan", "-nan", "inf", "-inf"];
    let mut finite = String::with_capacity(text.len());
    let mut changed = false;
    for (index, part) in text.split(':').enumerate() {
        if index > 0 {
            finite.push(':');
        }
        let value = part.trim_start();
        let end = value.find([',', '}', '\n', '\r', ' ']).unwrap_or(value.len());
        let word = value[..end].to_ascii_lowercase();
        if index > 0 && ODD.contains(&word.as_str()) {
            changed = true;
            finite.push_str(" null");
            finite.push_str(&value[end..]);
        } else {
            finite.push_str(part);
        }
    }
    changed.then_some(finite)
}

/// Fails if the object belongs to another kernel or problem.
fn check(object: &Value, kernel: &str, problem: &Problem) -> Result<(), Failure> {
    let other = |what: &str, found: &dyn std::fmt::Display, expected: &dyn std::fmt::Display| {
        Err(Failure::new(FailureClass::Garbage, format!("{what}: found {found}, expected {expected}")))
    };
    if let Some(name) = object["name"].as_str() {
        let bare = name.strip_prefix("benchmark_").unwrap_or(name);
        if bare != kernel {
            return other("name", &name, &kernel);
        }
    }
    for key in Operation::get(problem.op()).executable_flags {
        if let (Some(found), Some((_, expected))) = (object["problem"][key].as_i64(), problem.value(key))
            && found != expected
        {
            return other(key, &found, &expected);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ck_select::problem::GemmProblem;
    use proptest::prelude::*;

    use super::*;

    fn read(output: &str) -> Result<Measurement, Failure> {
        parse(output.as_bytes(), "gemm_k", &GemmProblem::new(1000, 1000, 500).into())
    }

    fn object(result: &str) -> String {
        format!(
            "{{\"name\": \"gemm_k\", \"problem\": {{\"m\": 1000, \"n\": 1000, \"k\": 500}}, \"perf_result\": \
             {{{result}}}}}"
        )
    }

    const GOOD: &str = "\"latency(ms)\": 0.5, \"tflops(TFlops)\": 2.25, \"bandwidth(GB/s)\": 7.5";

    #[test]
    fn the_last_result_among_other_text_counts() {
        let early = object("\"latency(ms)\": 9.0");
        let output = format!("Run {{x}} {{\"a\": 1}}\n{early}\nnote\n{}\nbye }}", object(GOOD));
        let expected = Measurement { tflops: 2.25, bandwidth_gb_s: Some(7.5), ..Measurement::new(0.5, 1e9) };
        assert_eq!(read(&output), Ok(expected));
        assert_eq!(read(&early).unwrap().tflops, 1e9 / 9.0 / 1e9, "without tflops they are computed");
    }

    #[test]
    fn malformed_results_are_classified() {
        let class = |output: &str| read(output).unwrap_err().class;
        assert_eq!(class(""), FailureClass::Garbage);
        assert_eq!(class("Segmentation fault {"), FailureClass::Garbage);
        assert_eq!(class("{\"perf_result\": 3}"), FailureClass::Garbage);
        assert_eq!(class(&object("\"latency\": 1")), FailureClass::Garbage);
        for number in ["0.0", "-1", "nan", "-nan", "inf", "NaN", "Infinity"] {
            let output = object(&format!("\"latency(ms)\": {number}, \"tflops(TFlops)\": {number}"));
            assert_eq!(class(&output), FailureClass::NotATime, "{number}");
        }
        let failure = read(&object(GOOD).replace("1000", "64")).unwrap_err();
        assert_eq!(failure.to_string(), "garbage: m: found 64, expected 1000");
        let failure = read(&object(GOOD).replace("gemm_k", "gemm_j")).unwrap_err();
        assert_eq!(failure.to_string(), "garbage: name: found gemm_j, expected gemm_k");
    }

    proptest! {
        #[test]
        fn any_output_has_an_answer(output in "[{}\":,a-z0-9 \\n]{0,200}") {
            let _ = read(&output);
        }

        #[test]
        fn a_result_is_found_in_any_text(before in "[^{}\"]{0,40}", after in "[^{\"]{0,40}") {
            prop_assert_eq!(read(&format!("{before}{}{after}", object(GOOD))).unwrap().latency_ms, 0.5);
        }
    }
}
