//! Answers as results.

use std::sync::LazyLock;

use rmcp::model::{CallToolResult, ContentBlock, Implementation, MetaObject};
use serde_json::{Value, json};

use crate::tools::{Block, Reply};

/// Where a result of the modern era names the server.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

static SERVER: LazyLock<Value> = LazyLock::new(|| json!(implementation()));

/// What this server calls itself.
pub(super) fn implementation() -> Implementation {
    Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

/// A successful answer.
pub(super) fn reply(reply: Reply) -> CallToolResult {
    let mut result = CallToolResult::success(reply.blocks.into_iter().map(block).collect());
    result.structured_content = Some(reply.data);
    result
}

/// Names the server in the metadata of a result, which has no session to have named it before.
pub(super) fn name_server(meta: &mut Option<MetaObject>) {
    meta.get_or_insert_default().insert(SERVER_KEY.into(), SERVER.clone());
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text(text) => ContentBlock::text(text),
        Block::Image { data, mime } => ContentBlock::image(data, mime),
    }
}
