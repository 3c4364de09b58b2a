//! The caller's data: one row after the other, whichever way it lies in memory.

use std::ffi::{c_int, c_void};

use ck_select_model::scoring::Rows;

use crate::error::{Error, not_null};

/// The kind of the data's numbers.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Single,
    Double,
}

/// A matrix in the caller's memory. It is read through pointers only: nothing is taken for granted about
/// alignment, or about the results lying elsewhere.
#[derive(Debug)]
pub(crate) struct Matrix {
    data: *const c_void,
    kind: Kind,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    is_row_major: bool,
}

impl Matrix {
    /// Checks the sizes. A matrix without values may be NULL.
    pub(crate) fn new(
        data: *const c_void,
        data_type: c_int,
        rows: i32,
        columns: i32,
        is_row_major: c_int,
    ) -> Result<Matrix, Error> {
        let kind = match data_type {
            0 => Kind::Single,
            1 => Kind::Double,
            value => {
                let expected = "0 (float32) or 1 (float64)";
                return Err(Error::Argument { name: "data_type", value, expected });
            }
        };
        let (rows, columns) = (size("nrow", rows)?, size("ncol", columns)?);
        let matrix = Matrix { data, kind, rows, columns, is_row_major: is_row_major != 0 };
        if rows > 0 && columns > 0 {
            not_null("data", data.cast_mut())?;
            fits("the data", rows, columns)?;
        }
        Ok(matrix)
    }

    /// Some of the rows.
    ///
    /// # Safety
    ///
    /// The data holds `rows` x `columns` numbers of its kind as long as the result is used, and the rows are
    /// among them.
    pub(crate) unsafe fn rows(&self, first: usize, count: usize) -> MatrixRows<'_> {
        MatrixRows { matrix: self, first, count }
    }
}

/// Rows of a matrix that has its values. Features that it lacks are 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatrixRows<'a> {
    matrix: &'a Matrix,
    first: usize,
    count: usize,
}

impl Rows for MatrixRows<'_> {
    fn len(&self) -> usize {
        self.count
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        let Matrix { data, kind, rows, columns, is_row_major } = *self.matrix;
        if feature >= columns {
            values.fill(0.0);
            return;
        }
        let first = self.first + first;
        let (first, step) =
            if is_row_major { (first * columns + feature, columns) } else { (feature * rows + first, 1) };
        // SAFETY: whoever made this promised that the data has these rows, and the feature is one of its
        // columns.
        unsafe {
            match kind {
                Kind::Single => copy(data.cast::<f32>().add(first), step, values),
                Kind::Double => copy(data.cast::<f64>().add(first), step, values),
            }
        }
    }
}

/// # Safety
///
/// There is a number at each step from `data` on, as many as values.
#[inline]
unsafe fn copy<T: Copy + Into<f64>>(data: *const T, step: usize, values: &mut [f64]) {
    for (at, value) in values.iter_mut().enumerate() {
        // SAFETY: by contract, there is a number.
        *value = unsafe { data.add(at * step).read_unaligned() }.into();
    }
}

fn size(name: &'static str, value: i32) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::Argument { name, value, expected: "at least 0" })
}

/// Whether so many doubles can be in memory at once, so that no offset into them overflows.
pub(crate) fn fits(name: &'static str, rows: usize, columns: usize) -> Result<(), Error> {
    let bytes = rows.checked_mul(columns).and_then(|count| count.checked_mul(size_of::<f64>()));
    match bytes {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Error::TooLarge(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_either_way_from_either_kind_aligned_or_not() {
        let numbers = [1.0f64, 2.0, 0.5, 4.0, f64::INFINITY, -0.0];
        for (is_row_major, rows) in [
            (1, [[1.0, 2.0, 0.5], [4.0, f64::INFINITY, 0.0]]),
            (-1, [[1.0, 2.0, 0.5], [4.0, f64::INFINITY, 0.0]]),
            (0, [[1.0, 0.5, f64::INFINITY], [2.0, 4.0, 0.0]]),
        ] {
            let singles = numbers.map(|number| number as f32);
            let mut bytes = vec![0u8];
            bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
            for (kind, data) in
                [(0, singles.as_ptr().cast()), (1, numbers.as_ptr().cast()), (1, bytes[1..].as_ptr().cast())]
            {
                let matrix = Matrix::new(data, kind, 2, 3, is_row_major).unwrap();
                // SAFETY: six numbers are two rows of three.
                let matrix = unsafe { matrix.rows(0, 2) };
                for (row, expected) in rows.iter().enumerate() {
                    let mut values = [7.0; 4];
                    (0..4).zip(&mut values).for_each(|(column, value)| {
                        matrix.column(column, row, std::slice::from_mut(value));
                    });
                    assert_eq!(values[..3], expected[..]);
                    assert_eq!(values[3], 0.0, "there is no such column");
                }
            }
        }
    }
}
