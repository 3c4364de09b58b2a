//! The columns of AITER's tuned tables, which `ckselect rank --format aiter` writes and every reader of tables
//! reads.

/// The columns, in AITER's order; a family has some of them.
pub const COLUMNS: [&str; 15] = [
    "gfx", "cu_num", "B", "M", "N", "K", "q_dtype_w", "libtype", "kernelId", "splitK", "us", "kernelName",
    "tflops", "bw", "errRatio",
];

/// The column of splits, whose numbers are exponents of two.
pub const EXPONENTS: &str = "splitK";

/// AITER's name of a column that others call otherwise.
pub(crate) fn alias(column: &str) -> Option<&'static str> {
    match column {
        "arch" => Some("gfx"),
        "hw_num_cus" => Some("cu_num"),
        "split_k" => Some(EXPONENTS),
        _ => None,
    }
}
