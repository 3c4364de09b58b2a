//! Pools: the kernels to choose from, and the files that they come from.

mod common;
mod error;
mod export;
mod folder;
mod json;
mod keys;
mod list;

use std::collections::HashSet;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

pub use error::PoolError;
pub use export::{ExportOptions, config_json, export_json, kernel_json};
pub use folder::{Folder, FolderKernel};

use crate::each_operation;
use crate::files;
use crate::kernel::{Kernel, KernelKind};
use crate::operation::OperationKernel as _;
use crate::sheet::{Format, Opened, Text};
use crate::vocab::{Arch, Op};

/// Kernels of one operation, in the order of their source, which is the last to decide between equal scores.
///
/// A pool is immutable, so everything prepared for it stays valid. It may contain several kernels with one
/// name (a registry can), and convolutions of several directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    kernels: Box<[Arc<Kernel>]>,
    /// Indices of `kernels`, sorted by name, then by index.
    by_name: Box<[u32]>,
    op: Op,
    measured: HashSet<String>,
}

impl Pool {
    /// Maximum size of a file of JSON.
    pub const MAX_BYTES: u64 = 256 << 20;
    /// Maximum number of kernels. Upstream's largest pool has thousands.
    pub const MAX_KERNELS: usize = 1 << 20;

    /// A pool of these kernels: at least one, all of one operation.
    pub fn new(kernels: Vec<Kernel>) -> Result<Self, PoolError> {
        let mut builder = Builder::default();
        for kernel in kernels {
            builder.push(kernel)?;
        }
        builder.finish()
    }

    /// A pool of kernels that others share, and that were validated before.
    pub fn shared(kernels: Vec<Arc<Kernel>>) -> Result<Self, PoolError> {
        let mut builder = Builder::default();
        for kernel in kernels {
            builder.push_valid(kernel)?;
        }
        builder.finish()
    }

    /// Reads a file; see [`Pool::from_bytes`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PoolError> {
        Self::read_on(path, None)
    }

    /// Reads a file without the rows whose column `gfx`, which AITER's tables have, is another architecture. Without
    /// an architecture, a kernel is of the architecture of its rows, if they have only one.
    pub fn read_on(path: impl AsRef<Path>, arch: Option<Arch>) -> Result<Self, PoolError> {
        let path = path.as_ref();
        let label = path.display().to_string();
        let file = files::open(path).map_err(|error| PoolError::unreadable(&error).file(&label))?;
        Self::from_text(&label, Box::new(BufReader::new(file)), arch)
    }

    /// Reads the contents of a file; `label` names it in errors. The format is detected:
    ///
    /// * **JSON** begins with `{` or `[`: the export of a GEMM registry, of a convolution registry, or of
    ///   Python configurations (an object with `kernels`, an array of kernels, or one kernel), or an array of
    ///   names. Where a field is present it is authoritative; the name, or a GEMM's identifier, supplies what
    ///   exports lose. A contradiction between the two is an error. A GEMM kernel is named by its identifier,
    ///   the key of its registry.
    /// * **CSV** has a column `kernel`, `kernel_name` or `kernelName` in its first line. The first row of a
    ///   kernel counts; its other rows are further measurements.
    /// * **Text** has one name per line; `#` begins a comment line, blank lines are skipped, and of the tile
    ///   engine's kernel lists (`name|tile|traits`) only the name counts. A leading `benchmark_`, as
    ///   executables have, is dropped.
    ///
    /// The order is kept, and in JSON and text so are repeated names. Text must be UTF-8, and may be
    /// compressed with gzip; a byte-order mark and CRLF are fine.
    ///
    /// ```
    /// use ck_select_types::pool::Pool;
    ///
    /// let pool = Pool::from_bytes(
    ///     "sweep.csv",
    ///     b"kernel,N,latency_ms\n\
    ///       grouped_conv_forward_bf16_2d_64x64x64_compv3,1,0.25\n\
    ///       grouped_conv_forward_bf16_2d_64x64x64_compv4,1,0.5\n\
    ///       grouped_conv_forward_bf16_2d_64x64x64_compv3,2,0.75\n",
    /// )?;
    /// assert_eq!(pool.len(), 2);
    /// assert_eq!(pool.position("grouped_conv_forward_bf16_2d_64x64x64_compv4"), Some(1));
    ///
    /// let error = Pool::from_bytes("pool.txt", b"# ours\ngemm_fp16_xyz\n").unwrap_err();
    /// assert!(error.to_string().starts_with(
    ///     "pool.txt, line 2: kernel name 'gemm_fp16_xyz': unknown GEMM layout 'xyz', expected one of: rcr"
    /// ));
    /// # Ok::<(), ck_select_types::pool::PoolError>(())
    /// ```
    pub fn from_bytes(label: &str, bytes: &[u8]) -> Result<Self, PoolError> {
        Self::from_text(label, Box::new(bytes), None)
    }

    fn from_text(label: &str, text: Text<'_>, arch: Option<Arch>) -> Result<Self, PoolError> {
        let read = || {
            let mut builder = Builder::default();
            let opened = Opened::new(label, text).map_err(|error| PoolError::from(error.fault))?;
            match opened.format {
                Format::Objects => json::read(&whole(opened.text())?, &mut builder)?,
                Format::Table | Format::Lines => list::read(opened, arch, &mut builder)?,
            }
            builder.finish()
        };
        read().map_err(|error| error.file(label))
    }

    /// The operation that all its kernels compute.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// Whether a row of its file has a time or a speed of a kernel, on the architecture that it was read for as
    /// far as the file tells, so that the kernel was built.
    pub fn is_measured(&self, kernel: &Kernel) -> bool {
        self.measured.contains(&kernel.name)
    }

    /// The kernels for which `keep` is true; the error of a pool without kernels if there are none.
    pub fn keeping(&self, keep: impl Fn(&Kernel) -> bool) -> Result<Self, PoolError> {
        Self::shared(self.kernels.iter().filter(|kernel| keep(kernel)).cloned().collect())
    }

    /// The number of kernels, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a pool is never empty")]
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// The kernels, in order.
    pub fn kernels(&self) -> &[Arc<Kernel>] {
        &self.kernels
    }

    /// The kernels, in order.
    pub fn iter(&self) -> Kernels<'_> {
        self.kernels.iter().map(AsRef::as_ref)
    }

    /// The kernel at `index`.
    pub fn get(&self, index: usize) -> Option<&Kernel> {
        self.kernels.get(index).map(AsRef::as_ref)
    }

    /// Whether all kernels read an operand in an order of their own, so that their problems have it so.
    pub fn is_shuffled(&self) -> bool {
        self.iter().all(|kernel| each_operation!(&kernel.kind, KernelKind(own) => own.is_shuffled()))
    }

    /// The indices in the order of names, those of equal names ascending.
    pub fn by_name(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.by_name.iter().map(|&index| index as usize)
    }

    /// The index of the first kernel of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let name_of = |&index: &u32| self.kernels[index as usize].name.as_str();
        let first = self.by_name.partition_point(|index| name_of(index) < name);
        self.by_name.get(first).filter(|index| name_of(index) == name).map(|&index| index as usize)
    }
}

/// The kernels of a pool, in order.
pub type Kernels<'p> = std::iter::Map<std::slice::Iter<'p, Arc<Kernel>>, fn(&'p Arc<Kernel>) -> &'p Kernel>;

impl<'a> IntoIterator for &'a Pool {
    type Item = &'a Kernel;
    type IntoIter = Kernels<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A pool under construction, which checks each kernel as it comes, while the reader still knows its line.
#[derive(Default)]
struct Builder {
    kernels: Vec<Arc<Kernel>>,
    /// The names of the kernels with a time.
    measured: HashSet<String>,
    /// The fault of a kernel in JSON, kept here because the reader's own errors are only text.
    fault: Option<PoolError>,
}

impl Builder {
    fn push(&mut self, kernel: impl Into<Arc<Kernel>>) -> Result<(), PoolError> {
        let kernel = kernel.into();
        // What registries refuse, too: a tile without rows, a group without waves.
        kernel.validate().map_err(|wrong| {
            let error = PoolError::value(wrong.found, wrong.expected);
            error.within(&format!("{}: {}", kernel.name, wrong.field))
        })?;
        self.push_valid(kernel)
    }

    fn push_valid(&mut self, kernel: Arc<Kernel>) -> Result<(), PoolError> {
        if self.kernels.len() == Pool::MAX_KERNELS {
            return Err(PoolError::new(format_args!("more than {} kernels", Pool::MAX_KERNELS)));
        }
        if let Some(first) = self.kernels.first()
            && first.op() != kernel.op()
        {
            let [(name, op), (first, first_op)] = [&kernel, first].map(|one| (&one.name, one.op()));
            return Err(PoolError::new(format_args!(
                "'{name}' is a {op} kernel, but '{first}' is a {first_op} kernel: a pool has one operation"
            )));
        }
        self.kernels.push(kernel);
        Ok(())
    }

    fn finish(self) -> Result<Pool, PoolError> {
        let measured = self.measured;
        let kernels = self.kernels.into_boxed_slice();
        let Some(first) = kernels.first() else {
            return Err(PoolError::new("no kernel found, expected at least one"));
        };
        let op = first.op();
        let mut by_name: Box<[u32]> = (0..kernels.len() as u32).collect();
        // Stable, so that equal names stay in the order of their indices.
        by_name.sort_by_key(|&index| kernels[index as usize].name.as_str());
        Ok(Pool { kernels, by_name, op, measured })
    }
}

/// A text, which must not be too long.
fn whole(text: Text<'_>) -> Result<String, PoolError> {
    let mut bytes = Vec::new();
    text.take(Pool::MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| PoolError::unreadable(&error))?;
    if bytes.len() as u64 > Pool::MAX_BYTES {
        return Err(PoolError::new(format_args!("larger than {} MiB", Pool::MAX_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        PoolError::new(format_args!("not UTF-8 from byte {offset} on"))
    })
}

/// The kernel that a name describes.
fn named(name: &str) -> Result<Kernel, PoolError> {
    Kernel::from_name(name).map_err(PoolError::new)
}

#[cfg(test)]
mod tests;
