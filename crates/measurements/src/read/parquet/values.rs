//! The values of a column in one of three forms, whole numbers, reals and texts, regardless of the type in
//! the file.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, Int32Array, Int64Array, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use ck_select_types::cells::Cell;

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
        if let Some(real) = real(array) {
            return Ok(Self::Real(real));
        }
        let text = text(array)?;
        let (keys, texts) =
            text.ok_or_else(|| format!("a column of type {kind}, expected numbers or text"))?;
        Ok(Self::Text(keys, texts))
    }

    pub(super) fn get(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Self::Whole(values) => values.is_valid(row).then(|| Cell::Whole(values.value(row))),
            Self::Real(values) => Some(values[row]).filter(|value| !value.is_nan()).map(Cell::Number),
            Self::Text(keys, texts) => {
                let key = keys.is_valid(row).then(|| keys.value(row) as usize)?;
                texts.is_valid(key).then(|| texts.value(key)).and_then(Cell::from_text)
            }
            Self::Absent => None,
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

/// Reals; NaN for nulls.
fn real(array: &dyn Array) -> Option<ScalarBuffer<f64>> {
    fn widened<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array) -> ScalarBuffer<f64> {
        array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, Into::into)).collect()
    }
    Some(match array.data_type() {
        DataType::Float16 => widened::<Float16Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Float64 if array.null_count() == 0 => array.as_primitive::<Float64Type>().values().clone(),
        DataType::Float64 => widened::<Float64Type>(array),
        _ => return None,
    })
}

/// Texts as indices into a list of texts, the form in which the schema requests them; `None` for other types.
fn text(array: &dyn Array) -> Result<Option<(Int32Array, StringArray)>, String> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(None) };
    let Some(texts) = dictionary.values().as_string_opt::<i32>() else { return Ok(None) };
    Ok(Some((keys(array, texts.len())?, texts.clone())))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{BooleanArray, DictionaryArray, Float32Array, Int16Array, UInt64Array};

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
        let reals = real(&Float32Array::from(vec![Some(0.5), None])).unwrap();
        assert!(reals[0] == 0.5 && reals[1].is_nan());
        assert!(whole(&StringArray::from(vec!["1"])).unwrap().is_none());
        assert!(real(&StringArray::from(vec!["1"])).is_none());
    }

    #[test]
    fn texts_are_numbered_and_damaged_ones_are_refused() {
        let array: DictionaryArray<Int8Type> = vec![Some("b"), None, Some("a")].into_iter().collect();
        let (keys, texts) = text(&array).unwrap().unwrap();
        assert_eq!((keys.value(2), keys.is_null(1), texts.value(0)), (1, true, "b"));
        assert!(text(&Int64Array::from(vec![1])).unwrap().is_none());
        let keys = arrow_array::Int8Array::from(vec![0, 5]);
        let texts = Arc::new(StringArray::from(vec!["a"]));
        // SAFETY: keys are compared with the number of texts before one is looked up.
        let damaged = unsafe { DictionaryArray::<Int8Type>::new_unchecked(keys, texts) };
        assert_eq!(text(&damaged).unwrap_err(), "damaged: value 5 of a dictionary of 1");
    }
}
