//! Texts of forests for tests.

/// The text of a forest of these trees, whose columns have these names.
pub(crate) fn forest<S: AsRef<str>>(names: &[S], trees: impl IntoIterator<Item = String>) -> String {
    let numbered = (0..).zip(trees).map(|(number, tree): (usize, _)| format!("Tree={number}\n{tree}\n"));
    super::text_head(names) + &numbered.collect::<String>() + "end of trees\n"
}

/// A tree that asks one question, with a decision type of LightGBM's.
pub(crate) fn stump(feature: usize, threshold: f64, decision: u8, values: [f64; 2]) -> String {
    format!(
        "num_leaves=2\nnum_cat=0\nsplit_feature={feature}\nthreshold={threshold}\ndecision_type={decision}\n\
         left_child=-1\nright_child=-2\nleaf_value={} {}\n",
        values[0], values[1],
    )
}
