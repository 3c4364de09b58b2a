//! The sources of a page, its time, and the program's version.

use std::path::Path;

use ck_select_model::directory::{EmbeddedModel, FeatureSpec, Model, Target};

use super::html::Page;
use super::text::{count, escape, name};
use ck_select_measurements::digest;
use ck_select_measurements::trained::digests;
use ck_select_measurements::{DataError, Measurements};

/// The sources of a page, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// When, as `YYYY-MM-DDThh:mm:ss` in UTC.
    pub at: String,
    /// The files of the model with their SHA-256.
    pub model: Vec<(String, String)>,
    /// The SHA-256 of each file of the measurements, in their order.
    pub data: Vec<String>,
}

/// The location of a model.
#[derive(Debug, Clone, Copy)]
pub enum ModelPlace<'a> {
    /// A directory.
    Directory(&'a Path),
    /// A model that the library contains.
    Embedded(&'static EmbeddedModel),
}

impl Provenance {
    /// Reads the digests of a model, if there is one, and of measurements. Errors name the file.
    pub fn new(
        at: String,
        model: Option<ModelPlace<'_>>,
        measurements: &Measurements,
    ) -> Result<Self, DataError> {
        Ok(Self {
            at,
            model: match model {
                Some(ModelPlace::Embedded(model)) => {
                    model.files().map(|(name, bytes)| (name, digest::of_bytes(bytes))).collect()
                }
                Some(ModelPlace::Directory(model)) => {
                    let digested =
                        |name: String| digest::of_file(&model.join(&name)).map(|digest| (name, digest));
                    files_of(model).into_iter().map(digested).collect::<Result<_, DataError>>()?
                }
                None => Vec::new(),
            },
            data: digests(measurements)?,
        })
    }

    /// The files of the measurements.
    pub(super) fn data(&self, page: &mut Page, measurements: &Measurements) {
        page.table(
            &["data", "rows", "SHA-256"],
            measurements.sources().iter().zip(&self.data).map(|(source, digest)| {
                vec![name(&source.path.display().to_string()), count(source.rows), hash(digest)]
            }),
        );
    }

    /// The files of the model.
    pub(super) fn model(&self, page: &mut Page) {
        page.table(
            &["model", "SHA-256"],
            self.model.iter().map(|(file, digest)| vec![escape(file), hash(digest)]),
        );
    }
}

/// A line with the time of a page, and the program.
pub(super) fn line(page: &mut Page, at: &str) {
    let time = escape(at);
    page.raw(&format!(
        "<p class=\"made\">Made on <time datetime=\"{time}Z\">{} UTC</time> by ck-select {}.</p>\n",
        time.replace('T', " "),
        env!("CARGO_PKG_VERSION")
    ));
}

/// A digest, which breaks anywhere.
pub(super) fn hash(digest: &str) -> String {
    format!("<code class=\"hash\">{digest}</code>")
}

/// The files of a model directory, as it is loaded.
fn files_of(directory: &Path) -> Vec<String> {
    let forests = Target::ALL.iter().copied().filter_map(|target| {
        let path = Model::forest_file(directory, target).ok().flatten()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    });
    std::iter::once(FeatureSpec::FILE.to_owned()).chain(forests).collect()
}
