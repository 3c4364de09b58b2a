//! An evaluation for programs, under upstream's keys if upstream has the figure.

use serde_json::{Value, json};

use super::{Evaluation, FieldCoverage, Slice};
use ck_select_measurements::Measurements;
use ck_select_measurements::figures::Spread;

impl Evaluation {
    /// Everything as one JSON object.
    pub fn to_json(&self, measurements: &Measurements) -> Value {
        let name = |kernel: u32| measurements.kernels()[kernel as usize].name.as_str();
        let Spread { count, mean, p50, p10, min } = self.efficiency;
        let errors = self.errors;
        let op = measurements.scope().op;
        let per_shape: Vec<Value> = self
            .outcomes
            .iter()
            .zip(&self.orders)
            .map(|(outcome, order)| {
                let mut one = json!({
                    "problem": measurements.problems()[outcome.problem as usize].to_string(),
                    "oracle_kernel": name(outcome.oracle.kernel),
                    "oracle_best_tflops": outcome.oracle.tflops,
                    "selected_kernel": order.unmeasured.as_deref().or(outcome.selected.map(|chosen| name(chosen.kernel))),
                    "selected_tflops": outcome.selected_tflops(),
                    "efficiency": outcome.efficiency,
                    "oracle_rank": outcome.oracle_rank.map(|rank| rank + 1),
                    "num_kernels": outcome.candidates,
                    "out_of_range": order.outside.names(op).collect::<Vec<_>>(),
                });
                if let (true, Some(one)) = (measurements.chooses_split(), one.as_object_mut()) {
                    one.insert("oracle_split_k".to_owned(), json!(outcome.oracle.split_k));
                    one.insert("selected_split_k".to_owned(), json!(outcome.selected.map(|chosen| chosen.split_k)));
                }
                one
            })
            .collect();
        let field = |field: &FieldCoverage| {
            json!({
                "field": field.name, "trained": field.trained, "problems_outside": field.outside,
            })
        };
        let fields: Vec<Value> = self.coverage.fields.iter().map(field).collect();
        let files = measurements.sources().iter().zip(&self.trained_files).filter(|(_, trained)| **trained);
        let trained: Vec<String> = files.map(|(source, _)| source.path.display().to_string()).collect();
        let mut value = json!({
            "global_metrics": {
                "efficiency_mean": mean,
                "efficiency_p50": p50,
                "efficiency_p10": p10,
                "efficiency_min": min,
                "regret_mean": 1.0 - mean,
                "ndcg_at_1": self.hit_rate(1),
                "top3_hit_rate": self.hit_rate(3),
                "top5_hit_rate": self.hit_rate(5),
                "top10_hit_rate": self.hit_rate(10),
                "best_of_top3_mean": self.best_of_top(3),
                "best_of_top5_mean": self.best_of_top(5),
                "best_of_top10_mean": self.best_of_top(10),
                "r2": errors.map(|errors| errors.r2),
                "rmse": errors.map(|errors| errors.rmse),
                "mae": errors.map(|errors| errors.mae),
                "num_shapes": count,
                "num_rows": self.rows,
                "num_valid_rows": measurements.rows().len() - self.invalid_rows,
                "num_invalid_rows": self.invalid_rows,
                "num_shapes_without_rows": self.problems_without_rows,
                "num_shapes_without_choice": self.problems_without_choice,
                "num_unmeasured_choices": self.orders.iter().filter(|order| order.unmeasured.is_some()).count(),
                "num_unknown_expected_losses": self.unknown_losses(),
                "efficiency_mean_of_measured_choices": self.measured_choices().map(|spread| spread.mean),
            },
            "baselines": {
                "fixed_kernel": name(self.baselines.fixed_kernel),
                "fixed_kernel_mean": self.baselines.fixed_mean,
                "random_mean": self.baselines.random_mean,
            },
            "best_of_top_k": self.top_k,
            "out_of_range": {
                "problems": self.coverage.problems_outside, "fields": fields,
                "unmeasured_kernels": self.coverage.unmeasured_kernels,
                "left_out_kernels": self.coverage.left_out_kernels,
            },
            "trained_on": trained,
            "per_shape_efficiency": per_shape,
        });
        if let Some(expected) = &self.expected
            && let (Some(global), Value::Object(figures)) =
                (value["global_metrics"].as_object_mut(), expected.figures())
        {
            global.extend(figures);
        }
        for group in &self.slices {
            value[group.key] = slices(&group.slices);
        }
        value
    }
}

fn slices(slices: &[Slice]) -> Value {
    let entry = |slice: &Slice| {
        let Spread { count, mean, p50, p10, min } = slice.efficiency;
        (slice.name.clone(), json!({"count": count, "mean": mean, "p50": p50, "p10": p10, "min": min}))
    };
    slices.iter().map(entry).collect()
}
