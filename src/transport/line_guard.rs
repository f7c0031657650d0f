//! Lines in, messages out, and an answer for every line that is none.
//!
//! rmcp's own reader drops what is too long or no JSON without a word, and a client would wait for ever.

use std::fmt;

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::RxJsonRpcMessage,
};
use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::error::{Error, ServingError};

/// How much of an over-long line is kept, to find its `id` there.
const HEAD: usize = 4096;

/// How much is read at once; lines hold whole files.
const BUFFER: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What a line turned out to be.
pub(super) enum Line {
    /// A message of the protocol.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing that could be served: send this answer.
    Refused(Value),
    /// Nothing that wants an answer.
    Ignored,
}

/// The lines of a stream, none held beyond a limit.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::with_capacity(BUFFER, input), limit, line: Vec::new(), is_too_long: false }
    }

    /// The next line; none at the end of the stream.
    ///
    /// A dropped call loses nothing: what was read stays here, and the next call goes on from there.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.input.fill_buf().await.ok()?;
            if available.is_empty() {
                return (!self.line.is_empty()).then(|| self.finish());
            }
            let newline = memchr::memchr(b'\n', available);
            let count = newline.unwrap_or(available.len());
            self.line.extend_from_slice(&available[..count]);
            self.input.consume(count + usize::from(newline.is_some()));
            self.is_too_long |= self.line.len() > self.limit;
            if self.is_too_long {
                self.line.truncate(HEAD);
            }
            if newline.is_some() {
                return Some(self.finish());
            }
        }
    }

    fn finish(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            return Line::Refused(too_long(&line, self.limit));
        }
        parse(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii())
    }
}

fn parse(line: &[u8]) -> Line {
    if line.is_empty() {
        return Line::Ignored;
    }
    match serde_json::from_slice(line) {
        Ok(message) => {
            refuse_params(&message).map_or_else(|| Line::Message(Box::new(message)), Line::Refused)
        }
        Err(error) if error.is_data() => misshapen(line),
        Err(_) => Line::Refused(not_json()),
    }
}

/// Methods that we have. rmcp takes one whose parameters do not fit for a method of its user's, which nobody has.
const METHODS: &[&str] = &["initialize", "ping", "server/discover", "tools/call", "tools/list"];

/// The answer to a request of a known method whose parameters do not have its shape.
fn refuse_params(message: &RxJsonRpcMessage<RoleServer>) -> Option<Value> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CustomRequest(custom) = &request.request else { return None };
    let method = METHODS.iter().find(|method| **method == custom.method)?;
    let error = json!({
        "code": -32602,
        "message": format!("The `params` of {method} do not have its shape: `name` is text and `arguments` an object."),
    });
    Some(refusal(serde_json::to_value(&request.id).ok().as_ref(), &error))
}

/// JSON that is no message. A notification is never answered, so one that we do not know is ignored.
fn misshapen(line: &[u8]) -> Line {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Line::Refused(not_json()) };
    let id = value.get("id");
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return Line::Ignored;
    }
    let id = id.filter(|id| id.is_string() || id.is_number());
    Line::Refused(refusal(
        id,
        &json!({ "code": -32600, "message": "The line is JSON, but no message of MCP." }),
    ))
}

fn not_json() -> Value {
    refusal(None, &json!({ "code": -32700, "message": "The line is not JSON." }))
}

fn too_long(head: &[u8], limit: usize) -> Value {
    let error = Error::from(ServingError::RequestTooLarge { cap_in_bytes: limit as u64 });
    refusal(id_in(head).as_ref(), &error.report())
}

fn refusal(id: Option<&Value>, error: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The request's `id`, when it stands whole in the beginning of a message.
fn id_in(head: &[u8]) -> Option<Value> {
    // A number at the very end may go on behind the cut.
    let end = head.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let mut id = None;
    // The message breaks off, so that reading it fails; what was found before that counts.
    IdSeeker(&mut id).deserialize(&mut serde_json::Deserializer::from_slice(&head[..end])).ok();
    id.filter(|id| id.is_string() || id.is_number())
}

struct IdSeeker<'a>(&'a mut Option<Value>);

impl<'de> DeserializeSeed<'de> for IdSeeker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdSeeker<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "id" {
                *self.0 = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(line);
        }
        all
    }

    fn refused(line: &Line) -> &Value {
        let Line::Refused(answer) = line else { panic!("not refused") };
        answer
    }

    const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[tokio::test]
    async fn a_message_passes_whatever_ends_it() {
        let input = [BYTE_ORDER_MARK, PING, b"\r\n\n", PING].concat();
        let lines = lines(&input, 1000).await;
        let [Line::Message(_), Line::Ignored, Line::Message(_)] = &lines[..] else {
            panic!("{}", lines.len())
        };
    }

    #[tokio::test]
    async fn what_is_not_json_is_a_parse_error_without_id() {
        let lines = lines(b"nonsense\n{\"id\":1\n\"\xff\"\n", 1000).await;
        assert_eq!(lines.len(), 3);
        for line in &lines {
            let answer = refused(line);
            assert_eq!(answer["error"]["code"], -32700);
            assert_eq!(answer.get("id"), Some(&Value::Null));
        }
    }

    #[tokio::test]
    async fn json_that_is_no_message_is_refused_with_its_id() {
        let lines =
            lines(b"[]\n42\n{\"id\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}\n", 1000).await;
        let ids: Vec<_> = lines.iter().map(|line| refused(line)["id"].clone()).collect();
        assert_eq!(ids, [Value::Null, Value::Null, json!("a"), json!(7)]);
        assert!(lines.iter().all(|line| refused(line)["error"]["code"] == -32600));
    }

    #[tokio::test]
    async fn an_over_long_line_is_answered_and_the_next_one_served() {
        let long = format!(r#"{{"jsonrpc":"2.0","params":{{"id":5,"x":"{}"}},"id":1}}"#, "é".repeat(BUFFER));
        let early =
            format!(r#"{{"jsonrpc":"2.0","params":{{"id":5}},"id":"q","x":"{}"}}"#, "a".repeat(BUFFER));
        let input = [long.as_bytes(), b"\n", early.as_bytes(), b"\n", PING, b"\n", early.as_bytes()].concat();
        let lines = lines(&input, 1000).await;
        assert_eq!(refused(&lines[0])["id"], Value::Null);
        assert_eq!(refused(&lines[1])["id"], "q");
        assert!(matches!(lines[2], Line::Message(_)));
        assert_eq!(refused(&lines[3])["id"], "q");
        let error = &refused(&lines[1])["error"];
        assert_eq!(error["code"], -32600);
        assert_eq!(error["data"]["reason"], "request_too_large");
        assert_eq!(error["data"]["capInBytes"], 1000);
    }

    #[tokio::test]
    async fn a_line_at_the_limit_passes() {
        assert!(matches!(lines(PING, PING.len()).await[0], Line::Message(_)));
        assert_eq!(refused(&lines(PING, PING.len() - 1).await[0])["id"], 1);
    }

    #[test]
    fn an_id_that_may_go_on_behind_the_cut_is_none() {
        assert_eq!(id_in(br#"{"id":12"#), None);
        assert_eq!(id_in(br#"{"id":12,"#), Some(json!(12)));
        assert_eq!(id_in(br#"{"a":"\"id\":3","id":"x"#), None);
        assert_eq!(id_in(br#"{"a":["#), None);
        assert_eq!(id_in(b"12"), None);
    }
}
