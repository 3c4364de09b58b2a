//! The values of a column in one of three forms, whole numbers, reals and texts, regardless of the type in
//! the file.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, Int32Array, Int64Array, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use super::super::table::Cell;

/// One column of a batch, ready for access by row.
pub(super) enum Column {
    Whole(Int64Array),
    /// NaN for nulls.
    Real(ScalarBuffer<f64>),
    /// The row's text by its key; there may be texts that no row has.
    Text(Int32Array, StringArray),
    Absent,
}

impl Column {
    pub(super) fn new(array: &dyn Array) -> Result<Self, String> {
        let kind = array.data_type();
        if kind.is_null() {
            return Ok(Self::Absent);
        }
        if let Some(whole) = whole(array)? {
            return Ok(Self::Whole(whole));
        }
        if let Some(real) = real(array)? {
            return Ok(Self::Real(real));
        }
        let text = text(array)?;
        let (keys, texts) =
            text.ok_or_else(|| format!("a column of type {kind}, expected numbers or text"))?;
        Ok(Self::Text(keys, texts))
    }

    pub(super) fn get(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Whole(values) if values.is_valid(row) => Cell::Whole(values.value(row)),
            Self::Real(values) if !values[row].is_nan() => Cell::Real(values[row]),
            Self::Text(keys, texts) if keys.is_valid(row) && texts.is_valid(keys.value(row) as usize) => {
                Cell::of_text(texts.value(keys.value(row) as usize).as_bytes())
            }
            _ => Cell::Absent,
        }
    }
}

/// Whole numbers and flags; `None` for other types.
fn whole(array: &dyn Array) -> Result<Option<Int64Array>, String> {
    fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Int64Array {
        array.as_primitive::<T>().unary(Into::into)
    }
    Ok(Some(match array.data_type() {
        DataType::Boolean => {
            let flags = array.as_boolean();
            Int64Array::new(flags.values().iter().map(i64::from).collect(), flags.nulls().cloned())
        }
        DataType::Int8 => widened::<Int8Type>(array),
        DataType::Int16 => widened::<Int16Type>(array),
        DataType::Int32 => widened::<Int32Type>(array),
        DataType::Int64 => array.as_primitive::<Int64Type>().clone(),
        DataType::UInt8 => widened::<UInt8Type>(array),
        DataType::UInt16 => widened::<UInt16Type>(array),
        DataType::UInt32 => widened::<UInt32Type>(array),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().try_unary(|value| {
            i64::try_from(value).map_err(|_| format!("found {value}, expected at most {}", i64::MAX))
        })?,
        _ => return Ok(None),
    }))
}

/// Reals, and dictionaries of numbers; NaN for nulls.
fn real(array: &dyn Array) -> Result<Option<ScalarBuffer<f64>>, String> {
    fn widened<T: ArrowPrimitiveType>(
        array: &dyn Array,
        to: impl Fn(T::Native) -> f64 + Copy,
    ) -> ScalarBuffer<f64> {
        let array = array.as_primitive::<T>();
        match array.null_count() {
            0 => array.values().iter().map(|&value| to(value)).collect(),
            _ => array.iter().map(|value| value.map_or(f64::NAN, to)).collect(),
        }
    }
    Ok(Some(match array.data_type() {
        DataType::Float16 => widened::<Float16Type>(array, f64::from),
        DataType::Float32 => widened::<Float32Type>(array, f64::from),
        DataType::Float64 if array.null_count() == 0 => array.as_primitive::<Float64Type>().values().clone(),
        DataType::Float64 => widened::<Float64Type>(array, f64::from),
        DataType::Dictionary(_, kind) if kind.is_integer() || kind.is_floating() => {
            let values = array.as_any_dictionary().values();
            let values = match whole(values)? {
                Some(values) => widened::<Int64Type>(&values, |value| value as f64),
                None => real(values)?.unwrap_or_default(),
            };
            let keys = keys(array, values.len())?;
            keys.iter().map(|key| key.map_or(f64::NAN, |key| values[key as usize])).collect()
        }
        _ => return Ok(None),
    }))
}

/// Texts, as indices into a list of texts; `None` for other types.
fn text(array: &dyn Array) -> Result<Option<(Int32Array, StringArray)>, String> {
    Ok(Some(match array.data_type() {
        DataType::Utf8 => numbered(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => numbered(array.as_string::<i64>().iter()),
        DataType::Utf8View => numbered(array.as_string_view().iter()),
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            let texts: StringArray = match values.data_type() {
                DataType::Utf8 => values.as_string::<i32>().clone(),
                DataType::LargeUtf8 => values.as_string::<i64>().iter().collect(),
                DataType::Utf8View => values.as_string_view().iter().collect(),
                _ => return Ok(None),
            };
            (keys(array, texts.len())?, texts)
        }
        _ => return Ok(None),
    }))
}

/// The keys of a dictionary. The reader does not check whether damaged ones have a value.
fn keys(array: &dyn Array, values: usize) -> Result<Int32Array, String> {
    let keys = whole(array.as_any_dictionary().keys())?.unwrap_or_else(|| Int64Array::new_null(array.len()));
    let damaged = |key: &i64| usize::try_from(*key).map_or(true, |key| key >= values);
    if let Some(key) = keys.iter().flatten().find(damaged) {
        return Err(format!("damaged: value {key} of a dictionary of {values}"));
    }
    // The keys of nulls are arbitrary.
    Ok(keys.unary(|key| i32::try_from(key).unwrap_or_default()))
}

/// Gives equal texts one number.
fn numbered<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> (Int32Array, StringArray) {
    let mut numbers: HashMap<&str, i32> = HashMap::new();
    let mut texts = Vec::new();
    let mut last = None;
    let mut number = |text: &'a str| {
        // Most rows repeat the previous one.
        match last {
            Some((known, number)) if known == text => number,
            _ => {
                let number = *numbers.entry(text).or_insert_with(|| {
                    texts.push(text);
                    (texts.len() - 1) as i32
                });
                last = Some((text, number));
                number
            }
        }
    };
    let keys: Int32Array = rows.map(|text| text.map(&mut number)).collect();
    (keys, StringArray::from_iter_values(texts))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Int8Type, UInt16Type};
    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, Float32Array, Int16Array, LargeStringArray, StringViewArray,
        UInt64Array,
    };

    use super::*;

    #[test]
    fn numbers_of_every_width_are_read() {
        let small = whole(&Int16Array::from(vec![Some(-3), None])).unwrap().unwrap();
        assert_eq!(small, Int64Array::from(vec![Some(-3), None]));
        let flags = whole(&BooleanArray::from(vec![Some(true), None])).unwrap().unwrap();
        assert_eq!(flags, Int64Array::from(vec![Some(1), None]));
        let large = UInt64Array::from(vec![7, u64::MAX]);
        assert_eq!(whole(&large.slice(0, 1)).unwrap().unwrap(), Int64Array::from(vec![7]));
        let error = whole(&large).unwrap_err();
        assert!(error.contains("found 18446744073709551615, expected at most"), "{error}");
        let reals = real(&Float32Array::from(vec![Some(0.5), None])).unwrap().unwrap();
        assert!(reals[0] == 0.5 && reals[1].is_nan());
        assert!(whole(&StringArray::from(vec!["1"])).unwrap().is_none());
        assert!(real(&StringArray::from(vec!["1"])).unwrap().is_none());
    }

    #[test]
    fn texts_of_every_type_are_numbered() {
        let rows = vec![Some("b"), Some("b"), None, Some("a"), Some("b")];
        let arrays: [ArrayRef; 3] = [
            Arc::new(StringArray::from(rows.clone())),
            Arc::new(LargeStringArray::from(rows.clone())),
            Arc::new(StringViewArray::from(rows.clone())),
        ];
        for array in arrays {
            let (keys, texts) = text(&array).unwrap().unwrap();
            assert_eq!(keys, Int32Array::from(vec![Some(0), Some(0), None, Some(1), Some(0)]));
            assert_eq!(texts, StringArray::from(vec!["b", "a"]));
        }
        let array: DictionaryArray<Int8Type> = rows.into_iter().collect();
        let (keys, texts) = text(&array).unwrap().unwrap();
        assert_eq!(keys.value(3), 1);
        assert_eq!((keys.is_null(2), texts.value(0)), (true, "b"));
        assert!(text(&Int64Array::from(vec![1])).unwrap().is_none());
    }

    #[test]
    fn dictionaries_of_numbers_are_reals_and_damaged_ones_are_refused() {
        let keys = arrow_array::UInt16Array::from(vec![Some(1), None, Some(0)]);
        let values = Arc::new(Int16Array::from(vec![10, 20]));
        let array = DictionaryArray::<UInt16Type>::new(keys, values);
        let found = real(&array).unwrap().unwrap();
        assert!(found[0] == 20.0 && found[1].is_nan() && found[2] == 10.0);
        let keys = arrow_array::Int8Array::from(vec![0, 5]);
        let texts = Arc::new(StringArray::from(vec!["a"]));
        // SAFETY: keys are compared with the number of texts before one is looked up.
        let damaged = unsafe { DictionaryArray::<Int8Type>::new_unchecked(keys, texts) };
        assert_eq!(text(&damaged).unwrap_err(), "damaged: value 5 of a dictionary of 1");
    }
}
