//! Splits lines into cells.

/// The place of a cell in its line, without the blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    start: u32,
    end: u32,
}

/// The cells of one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells<'a> {
    text: &'a [u8],
    places: &'a [Place],
}

impl<'a> Cells<'a> {
    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// A cell without the blanks around it.
    pub(super) fn get(&self, column: usize) -> &'a [u8] {
        let Place { start, end } = self.places[column];
        &self.text[start as usize..end as usize]
    }

    /// The text from one cell to another.
    pub(super) fn stretch(&self, first: usize, last: usize) -> &'a [u8] {
        &self.text[self.places[first].start as usize..self.places[last].end as usize]
    }
}

/// Splits lines into cells.
///
/// Rows of a sweep differ in the first cell, the kernel, and in the last ones, the figures. What is between
/// is compared with an earlier line, the model, and only split again if it differs.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    places: Vec<Place>,
    /// The last column that is compared; 0 for none.
    last: usize,
    /// The text from the comma after the model's first cell to the one after its column `last`.
    model: Vec<u8>,
    /// Places of the cells from the second one to `last` in `model`.
    of_model: Vec<Place>,
    /// Identifies models.
    serial: u64,
    /// The unquoted text of a line with quotes.
    plain: Vec<u8>,
}

impl Cutter {
    /// Compares the columns from the second one to `last`.
    pub(super) fn new(last: usize) -> Self {
        Self { last, ..Self::default() }
    }

    /// Splits a line without quotes. Lines with equal serials have equal cells from the second one to `last`.
    pub(super) fn cut<'a>(&'a mut self, line: &'a [u8]) -> (Cells<'a>, Option<u64>) {
        self.places.clear();
        let first = memchr::memchr(b',', line).unwrap_or(line.len());
        self.places.push(trimmed(line, 0, first));
        let rest = &line[first..];
        let mut serial = None;
        if !self.model.is_empty() && rest.starts_with(&self.model) {
            let by = first as u32;
            let moved = |place: &Place| Place { start: place.start + by, end: place.end + by };
            self.places.extend(self.of_model.iter().map(moved));
            cut_behind(line, first + self.model.len() - 1, &mut self.places);
            serial = Some(self.serial);
        } else {
            cut_behind(line, first, &mut self.places);
            if self.last > 0 && self.places.len() > self.last + 1 {
                self.remember(line, first);
                serial = Some(self.serial);
            }
        }
        (Cells { text: line, places: &self.places }, serial)
    }

    /// Makes a line the model.
    fn remember(&mut self, line: &[u8], first: usize) {
        self.serial += 1;
        let behind = self.places[self.last].end as usize;
        // There may be blanks before the comma.
        let comma = behind + line[behind..].iter().position(|&byte| byte == b',').unwrap_or_default();
        self.model.clear();
        self.model.extend_from_slice(&line[first..=comma]);
        let by = first as u32;
        let moved = |place: &Place| Place { start: place.start - by, end: place.end - by };
        self.of_model.clear();
        self.of_model.extend(self.places[1..=self.last].iter().map(moved));
    }

    /// Splits a line with quotes.
    pub(super) fn cut_quoted<'a>(&'a mut self, line: &[u8]) -> Result<Cells<'a>, String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
        let mut record = csv::ByteRecord::new();
        reader.read_byte_record(&mut record).map_err(|error| error.to_string())?;
        self.places.clear();
        self.plain.clear();
        for cell in &record {
            let start = self.plain.len();
            self.plain.extend_from_slice(cell);
            self.places.push(trimmed(&self.plain, start, self.plain.len()));
        }
        Ok(Cells { text: &self.plain, places: &self.places })
    }
}

/// Splits the cells after a comma; none if it is the line's end.
fn cut_behind(line: &[u8], comma: usize, places: &mut Vec<Place>) {
    if comma >= line.len() {
        return;
    }
    let mut start = comma + 1;
    for end in memchr::memchr_iter(b',', &line[start..]).map(|place| comma + 1 + place) {
        places.push(trimmed(line, start, end));
        start = end + 1;
    }
    places.push(trimmed(line, start, line.len()));
}

fn trimmed(line: &[u8], mut start: usize, mut end: usize) -> Place {
    while start < end && line[start].is_ascii_whitespace() {
        start += 1;
    }
    while end > start && line[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    Place { start: start as u32, end: end as u32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(cells: Cells<'_>) -> Vec<Vec<u8>> {
        (0..cells.len()).map(|column| cells.get(column).to_vec()).collect()
    }

    proptest! {
        #[test]
        fn cells_are_those_between_the_commas(
            lines in prop::collection::vec("(a|bb| )(,( |)[xy]( |)){0,3}(,[pq]{0,2}){0,3}|[a, ]{0,6}", 1..20),
            last in 0..5usize,
        ) {
            let mut cutter = Cutter::new(last);
            let mut seen = std::collections::HashMap::new();
            for line in &lines {
                let expected: Vec<Vec<u8>> =
                    line.split(',').map(|cell| cell.trim_ascii().into()).collect();
                let (cells, serial) = cutter.cut(line.as_bytes());
                prop_assert_eq!(texts(cells), &expected[..]);
                if let Some(serial) = serial {
                    let compared = seen.entry(serial).or_insert_with(|| expected[1..=last].to_vec());
                    prop_assert_eq!(&compared[..], &expected[1..=last]);
                }
                // Without quotes, both ways give the same; the other one does not accept empty lines.
                if !line.is_empty() {
                    prop_assert_eq!(texts(cutter.cut_quoted(line.as_bytes()).unwrap()), expected);
                }
            }
        }
    }

    #[test]
    fn the_middle_is_recognised() {
        let mut cutter = Cutter::new(2);
        let mut serial = |line: &str| cutter.cut(line.as_bytes()).1;
        assert_eq!(serial("a,1, 2 ,3"), Some(1));
        assert_eq!(serial("bbb,1, 2 ,4,5"), Some(1));
        assert_eq!(serial("a,1,2"), None, "nothing behind the last column");
        assert_eq!(serial("a,1, 2 ,"), Some(1));
        assert_eq!(serial("a,1,2,3"), Some(2));
    }
}
