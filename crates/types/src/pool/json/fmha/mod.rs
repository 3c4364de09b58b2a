//! Attention kernels: the C++ registry's export, which has tile and flags only inside the identifier.

mod config;

use super::part::{Fields, Part};
use crate::field::Record as _;
use crate::kernel::{FmhaKernel, Kernel, KernelKind};
use crate::pool::PoolError;
use crate::pool::keys::{KernelJson, KernelKeys, KeyForm, RawKernel};
use crate::vocab::Arch;

/// Everything else is in the identifier.
const EXPORT: &[(&str, &str)] = &[("", "family dtype pipeline gfx_arch")];

impl KernelJson for FmhaKernel {
    const KEYS: KernelKeys = KernelKeys {
        forms: &[
            ("data_type", KeyForm::Own("dtype")),
            ("skip_min_seqlen_q", KeyForm::Own("skip")),
            ("use_trload", KeyForm::Own("trload")),
            ("kv_memory_layout", KeyForm::Own("kv_layout")),
            ("kv_lookup_table", KeyForm::Own("kv_lookup")),
            ("tile", KeyForm::Array("tile_m0", 6)),
            ("wave", KeyForm::Array("wave_m0", 9)),
            ("warp", KeyForm::Array("warp_m0", 9)),
            ("padding", KeyForm::Array("pad_s", 4)),
        ],
        export: EXPORT,
        config: EXPORT,
        statistics: &[("by_family", "family"), ("by_dtype", "dtype"), ("by_pipeline", "pipeline")],
        export_version: None,
        // Backward kernels pad to 8 elements.
        has_counted_flags: true,
        may_be_unknown: |_| false,
    };

    fn complete_name(&self, _name: &str) -> Option<String> {
        Some(self.identifier())
    }

    fn describes(raw: &RawKernel) -> bool {
        match raw.identifier.as_ref().or(raw.name.as_ref()) {
            Some(text) => text.starts_with(FmhaKernel::NAME_PREFIX),
            None => config::is_config(raw.signature.as_ref(), raw.algorithm.as_ref()),
        }
    }

    fn read_json(mut raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
        match (raw.identifier.take(), raw.name.take()) {
            (Some(identifier), _) => kernel("identifier", identifier, raw, arch),
            (None, Some(name)) => kernel("name", name, raw, arch),
            (None, None) => config::kernel(raw.signature, raw.algorithm, arch),
        }
    }
}

/// The kernel that the text of a field describes, which becomes its name.
fn kernel(field: &str, name: String, raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
    let parsed = FmhaKernel::parse_name(&name);
    let parsed = parsed.map_err(|error| PoolError::new(error).within(field))?;
    let kind = KernelKind::Fmha(parsed.clone());
    let mut fields = Fields::new(&kind, &name, &|_, _| true);
    let keys = [("family", raw.family), ("dtype", raw.dtype), ("pipeline", raw.pipeline)];
    let part: Part =
        keys.into_iter().filter_map(|(key, word)| Some((key.to_owned(), word?.into()))).collect();
    fields.set("", &part)?;
    Ok(Kernel {
        kind: KernelKind::Fmha(FmhaKernel { arch, ..FmhaKernel::read(&fields.values, &parsed) }),
        name,
    })
}

#[cfg(test)]
mod tests {
    use crate::kernel::KernelKind;
    use crate::pool::{ExportOptions, Pool, export_json};
    use crate::vocab::Op;

    const NAME: &str =
        "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1";

    #[test]
    fn exports_read_back() {
        let pool = Pool::from_bytes("names.txt", NAME.as_bytes()).unwrap();
        let options = ExportOptions { statistics: true, ..ExportOptions::default() };
        let text = export_json(Op::Fmha, pool.iter(), &options).unwrap();
        let read = Pool::from_bytes("export.json", text.as_bytes()).unwrap();
        let (KernelKind::Fmha(ours), KernelKind::Fmha(again)) =
            (&pool.kernels()[0].kind, &read.kernels()[0].kind)
        else {
            panic!()
        };
        assert_eq!(ours, again);
        assert_eq!(read.kernels()[0].name, ours.identifier());
        assert!(text.contains("\"by_family\": {\n      \"fwd\": 1"), "{text}");
    }

    #[test]
    fn contradictions_are_errors() {
        let text = format!(r#"{{"kernels": [{{"name": "{NAME}", "dtype": "bf16", "gfx_arch": "gfx950"}}]}}"#);
        let error = Pool::from_bytes("export.json", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("kernels[0].dtype: the field says bf16, but the name"), "{error}");
    }
}
