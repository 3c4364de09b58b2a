//! Where results go: standard output, or a file that is there whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::CliError;

/// Standard output, or a temporary file beside the one that [`Output::finish`] makes of it.
pub(crate) enum Output {
    Stdout(BufWriter<io::Stdout>),
    File { writer: BufWriter<NamedTempFile>, path: PathBuf },
}

impl Output {
    /// `None` and `-` are standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, CliError> {
        match path {
            Some(path) if path != Path::new("-") => {
                let folder = match path.parent() {
                    Some(parent) if parent != Path::new("") => parent,
                    _ => Path::new("."),
                };
                let file =
                    NamedTempFile::new_in(folder).map_err(|error| CliError::io(path.display(), &error))?;
                Ok(Self::File { writer: BufWriter::new(file), path: path.to_owned() })
            }
            _ => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
        }
    }

    /// What errors call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }

    /// Writes what is buffered; a file gets its name only now, after its bytes are on the disk.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let name = self.name();
        let finished = match self {
            Self::Stdout(mut writer) => writer.flush(),
            Self::File { writer, path } => publish(writer, &path),
        };
        finished.map_err(|error| CliError::io(name, &error))
    }
}

fn publish(writer: BufWriter<NamedTempFile>, path: &Path) -> io::Result<()> {
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Temporary files are private; a result is as readable as any file that the user makes.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0o644, |old| old.permissions().mode());
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(writer) => writer.write(bytes),
            Self::File { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(writer) => writer.flush(),
            Self::File { writer, .. } => writer.flush(),
        }
    }
}
