//! The columns of AITER's tuned tables, which `ckselect rank --format aiter` writes and every reader of tables
//! reads.

/// The columns, in AITER's order; a family has some of them.
pub const COLUMNS: [&str; 15] = [
    "gfx", "cu_num", "B", "M", "N", "K", "q_dtype_w", "libtype", "kernelId", "splitK", "us", "kernelName",
    "tflops", "bw", "errRatio",
];

/// The columns of AITER's tables of fused mixtures of experts, of which a row has a kernel of each stage.
pub const FMOE_COLUMNS: [&str; 25] = [
    "cu_num", "token", "model_dim", "inter_dim", "expert", "topk", "act_type", "dtype", "q_dtype_a",
    "q_dtype_w", "q_type", "use_g1u1", "doweight_stage1", "block_m", "ksplit", "us1", "kernelName1", "err1",
    "us2", "kernelName2", "err2", "us", "run_1stage", "tflops", "bw",
];

/// The columns with the kernels of the stages.
pub const FMOE_KERNELS: [&str; 2] = ["kernelName1", "kernelName2"];

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
