//! Destinations of results: standard output or a file.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use ck_select::files::Pending;
use ck_select::terminal::printable;

use crate::error::CliError;

/// Standard output, or a file that gets its name in [`Output::finish`].
pub(crate) struct Output {
    writer: BufWriter<Pending>,
    name: String,
    screen: Screen,
    /// Whether people read it, so that what a terminal would obey is escaped.
    escapes: bool,
}

/// The properties of the reader that matter for a human-readable table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Screen {
    /// How many characters fit on a line; `None` means no limit, and nothing is cut.
    pub(crate) width: Option<usize>,
    /// Whether the reader shows colours and bold text, and the user wants them.
    pub(crate) styled: bool,
    /// Whether the reader obeys control characters.
    pub(crate) is_terminal: bool,
}

impl Screen {
    /// The terminal, if standard output is one. According to https://no-color.org, any non-empty value of
    /// NO_COLOR counts.
    fn of_standard_output() -> Self {
        if !io::stdout().is_terminal() {
            return Self::default();
        }
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self { width: width.filter(|&width| width > 0), styled: !is_plain, is_terminal: true }
    }
}

impl Output {
    /// Text for people, on standard output.
    pub(crate) fn report() -> Result<Self, CliError> {
        Ok(Self { escapes: true, ..Self::create(None)? })
    }

    /// Data, which programs read unless standard output is a terminal. `None` and `-` are standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, CliError> {
        let (begun, name, screen) = match path.filter(|path| *path != Path::new("-")) {
            Some(path) => (Pending::create(path), path.display().to_string(), Screen::default()),
            None => (Pending::standard_output(), "standard output".to_owned(), Screen::of_standard_output()),
        };
        match begun {
            Ok(pending) => {
                let escapes = screen.is_terminal;
                Ok(Self { writer: BufWriter::new(pending), name, screen, escapes })
            }
            Err(error) => Err(CliError::io(name)(error)),
        }
    }

    /// The output's name in error messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The properties of the output's reader.
    pub(crate) const fn screen(&self) -> Screen {
        self.screen
    }

    /// Writes bytes as they are: what is written here is escaped already, or styled by us.
    pub(crate) const fn exact(&mut self) -> &mut impl Write {
        &mut self.writer
    }

    /// Writes everything, and finishes.
    pub(crate) fn filled(mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), CliError> {
        write(&mut self).map_err(CliError::io(&self.name))?;
        self.finish()
    }

    /// Writes what is buffered; a file gets its name only now, after its contents are on disk.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let written = self.writer.into_inner().map_err(io::IntoInnerError::into_error);
        written.and_then(Pending::commit).map_err(CliError::io(self.name))
    }
}

/// The end of a file's name, which says what is written.
pub(crate) fn suffix(path: &Path) -> &str {
    path.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default()
}

/// The name of a file without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Reads the path of a file whose name says what is written, by one of these ends.
#[cfg(feature = "offline")]
pub(crate) fn with_suffix(
    known: &'static [&'static str],
) -> impl Fn(&str) -> Result<std::path::PathBuf, String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        if known.contains(&suffix(Path::new(text))) {
            return Ok(text.into());
        }
        let ends: Vec<String> = known.iter().map(|end| format!(".{end}")).collect();
        Err(format!("found '{text}', expected a name that ends in {}", ends.join(" or ")))
    }
}

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    Output::create(Some(path))?.filled(|out| out.write_all(text.as_bytes()))
}

/// Writes a document as a whole file.
#[cfg(feature = "offline")]
pub(crate) fn write_json(path: &Path, document: &serde_json::Value) -> Result<(), CliError> {
    write_file(path, &format!("{document:#}\n"))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.escapes {
            return self.writer.write(bytes);
        }
        // Texts come whole, so that no character is cut here.
        self.writer.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
