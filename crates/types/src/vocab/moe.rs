//! The words of mixtures of experts. AITER's numbers of quantisations are their indices here.

vocabulary! {
    /// Which of the two products of an expert is computed: rows by gate and up weights, their activation by
    /// down weights, or one after the other.
    MoeStage, "stage of a mixture of experts" {
        One = "1" | "stage1" | "gemm1", Two = "2" | "stage2" | "gemm2", Both = "both",
    }
}

vocabulary! {
    /// The elements that share a scale: none, a tensor, a row, 32 elements, a block (AITER's `QuantType`).
    MoeQuant, "quantisation of a mixture of experts" {
        None = "none" | "No" | "QuantType.No",
        Tensor = "tensor" | "per_Tensor" | "QuantType.per_Tensor",
        Token = "token" | "channel" | "per_Token" | "QuantType.per_Token",
        Mx = "mx" | "per_1x32" | "QuantType.per_1x32",
        Block = "block" | "per_1x128" | "QuantType.per_1x128",
    }
}

vocabulary! {
    /// The function between the two products.
    MoeActivation, "activation of a mixture of experts" {
        Silu = "silu" | "ActivationType.Silu", Gelu = "gelu" | "ActivationType.Gelu",
        Swiglu = "swiglu" | "ActivationType.Swiglu", Situv2 = "situv2" | "ActivationType.Situv2",
    }
}

vocabulary! {
    /// The operation of CK's two-stage kernels on their results (`CDEElementOp`).
    MoeEpilogue, "epilogue of a mixture of experts" {
        TypeCast = "TypeCast", TypeCastExpertWeight = "TypeCastExpertWeight", MulAbScale = "MulABScale",
        MulAbScaleExpertWeight = "MulABScaleExpertWeight", MulAbScaleWint4 = "MulABScaleWint4",
        MulAbScaleExpertWeightWin4 = "MulABScaleExpertWeightWin4", MulAbScaleShuffled = "MulABScaleShuffled",
        MulAbScaleExpertWeightShuffled = "MulABScaleExpertWeightShuffled",
        MulAbScaleExpertWeightBlockScale = "MulABScaleExpertWeightA8W8blkscale",
        MulAbScaleExpertWeightBlockScaleSplitK = "MulABScaleExpertWeightA8W8blkscaleSplitk",
    }
}
