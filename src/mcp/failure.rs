//! Failures as clients read them: the one place where an error becomes a result or a protocol error.

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, MetaObject},
};

use crate::{error::Error, tools::Halt};

/// Where the error object stands in the metadata of a result.
pub(super) const ERROR_KEY: &str = "dev.vaultwright/error";

/// The answer to a call that ended early: a result, or a protocol error where MCP asks for one.
pub(super) fn answer(halt: &Halt) -> Result<CallToolResult, ErrorData> {
    match halt {
        Halt::Failed(error) => Ok(result(error)),
        Halt::MalformedCursor => {
            Err(ErrorData::invalid_params("`cursor` is not a cursor of this server", None))
        }
    }
}

/// A tool failure: message, hint, and the error object as the last line.
///
/// Never structured content: a client would hold it against the output schema, and the model would see nothing.
pub(super) fn result(error: &Error) -> CallToolResult {
    let report = error.report();
    let text = format!("{error}\n\n{}\n\n{report}", error.reason().hint());
    let mut meta = MetaObject::new();
    meta.insert(ERROR_KEY.into(), report);
    CallToolResult::error(vec![ContentBlock::text(text)]).with_meta(Some(meta))
}

/// The protocol error for a name that no tool has.
pub(super) fn unknown_tool() -> ErrorData {
    ErrorData::invalid_params("tool not found", None)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::error::ServingError;

    #[test]
    fn a_failure_is_text_and_metadata_alone() {
        let result = result(&ServingError::ServerBusy { waited_ms: 30_000 }.into());
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        let text = &result.content[0].as_text().unwrap().text;
        let paragraphs: Vec<_> = text.split("\n\n").collect();
        assert_eq!(paragraphs[0], "The server is busy: waited 30000 ms for a place. Nothing was written.");
        assert_eq!(paragraphs[1], "Call again in a moment.");
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["data"]["waitedMs"], 30_000);
        assert_eq!(result.meta.unwrap()[ERROR_KEY], last);
    }

    #[test]
    fn a_malformed_cursor_is_a_protocol_error() {
        assert_eq!(answer(&Halt::MalformedCursor).unwrap_err().code.0, -32602);
    }
}
