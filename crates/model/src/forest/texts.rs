//! Texts of forests for tests.

/// The text of a forest of these trees, whose columns have these names.
pub(crate) fn forest<S: AsRef<str>>(names: &[S], trees: impl IntoIterator<Item = String>) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let head = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
         objective=regression\nfeature_names={}\nfeature_infos={}\n\n",
        names.len() - 1,
        names.join(" "),
        vec!["[-100:100]"; names.len()].join(" "),
    );
    let numbered = (0..).zip(trees).map(|(number, tree): (usize, _)| format!("Tree={number}\n{tree}\n"));
    head + &numbered.collect::<String>() + "end of trees\n"
}

/// A tree that asks one question, with a decision type of LightGBM's.
pub(crate) fn stump(feature: usize, threshold: f64, decision: u8, values: [f64; 2]) -> String {
    format!(
        "num_leaves=2\nnum_cat=0\nsplit_feature={feature}\nthreshold={threshold}\ndecision_type={decision}\n\
         left_child=-1\nright_child=-2\nleaf_value={} {}\n",
        values[0], values[1],
    )
}
