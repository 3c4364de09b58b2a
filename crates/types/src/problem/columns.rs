//! The columns of tables of measurements: those of a convolution (upstream's nineteen, in its order), and the
//! sizes of attention, whose other fields follow from the kernels.

use super::{ConvProblem, FmhaProblem};

/// Their names. `pad_*` is the padding before an axis.
pub const CONV_COLUMNS: [&str; 19] = [
    "N",
    "C",
    "K",
    "G",
    "Di",
    "Hi",
    "Wi",
    "Z",
    "Y",
    "X",
    "stride_d",
    "stride_h",
    "stride_w",
    "pad_d",
    "pad_h",
    "pad_w",
    "dilation_d",
    "dilation_h",
    "dilation_w",
];

impl ConvProblem {
    /// The values of [`CONV_COLUMNS`].
    pub fn columns(&self) -> [i64; 19] {
        let [[di, hi, wi], [z, y, x]] = [self.input, self.filter];
        let [[sd, sh, sw], [pd, ph, pw], [dd, dh, dw]] = [self.stride, self.pad_left, self.dilation];
        [self.n, self.c, self.k, self.g, di, hi, wi, z, y, x, sd, sh, sw, pd, ph, pw, dd, dh, dw]
    }
}

/// The sizes of attention: upstream's seven, then those that its tables lack.
pub const FMHA_COLUMNS: [&str; 13] = [
    "batch",
    "seqlen_q",
    "seqlen_k",
    "nhead_q",
    "nhead_k",
    "hdim_q",
    "hdim_v",
    "max_seqlen_q",
    "max_seqlen_k",
    "page_size",
    "num_splits",
    "window_left",
    "window_right",
];

/// What else one call of an attention kernel has, in tables that need it to tell problems apart.
pub const FMHA_MORE_COLUMNS: [&str; 13] = [
    "sink_size",
    "min_seqlen_q",
    "rotary_dim",
    "has_seqstart_q_ptr",
    "has_seqstart_k_ptr",
    "has_seqlen_q_ptr",
    "has_seqlen_k_ptr",
    "has_cu_seqlen_q_ptr",
    "has_cu_seqlen_k_ptr",
    "has_block_table_ptr",
    "has_cache_batch_idx",
    "is_gappy",
    "has_rotary_cos_sin",
];

impl FmhaProblem {
    /// The values of [`FMHA_MORE_COLUMNS`].
    pub fn more_columns(&self) -> [i64; 13] {
        let p = self;
        let flags = [
            p.has_seqstart_q_ptr,
            p.has_seqstart_k_ptr,
            p.has_seqlen_q_ptr,
            p.has_seqlen_k_ptr,
            p.has_cu_seqlen_q_ptr,
            p.has_cu_seqlen_k_ptr,
            p.has_block_table_ptr,
            p.has_cache_batch_idx,
            p.is_gappy,
            p.has_rotary_cos_sin,
        ];
        let mut values = [p.sink_size, p.min_seqlen_q, p.rotary_dim, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (value, flag) in values.iter_mut().skip(3).zip(flags) {
            *value = flag.into();
        }
        values
    }

    /// The values of [`FMHA_COLUMNS`].
    pub const fn columns(&self) -> [i64; 13] {
        let p = self;
        [
            p.batch,
            p.seqlen_q,
            p.seqlen_k,
            p.nhead_q,
            p.nhead_k,
            p.hdim_q,
            p.hdim_v,
            p.max_seqlen_q,
            p.max_seqlen_k,
            p.page_size,
            p.num_splits,
            p.window_left,
            p.window_right,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::Op;

    #[test]
    fn columns_read_back_as_the_problem() {
        let text = "N=2,C=6,K=4,G=2,Di=5,Hi=7,Wi=8,Z=1,Y=2,X=3,stride_d=1,stride_h=2,stride_w=3,pad_d=1,\
                    pad_h=2,pad_w=0,dilation_d=2,dilation_h=1,dilation_w=2";
        let defaults = ProblemDefaults::of(Op::GroupedConv);
        let Ok(Problem::Conv(problem)) = Problem::parse(Op::GroupedConv, text, &defaults) else { panic!() };
        let cells = CONV_COLUMNS.iter().zip(problem.columns()).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(cells.collect::<Vec<_>>().join(","), text.replace(char::is_whitespace, ""));
    }
}
