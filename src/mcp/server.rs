//! One server for both eras.

use std::{fmt, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, DiscoverResult, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};

use super::{
    client::{self, Client},
    failure, instructions, render,
    route::Routes,
};
use crate::{
    error::Error,
    serving::State,
    tools::{Cx, Entry, Halt, catalogue},
};

/// What we are and which tools there are changes with the process alone: an hour is modest.
const LISTING_TTL_MS: u64 = 3_600_000;

type Observer = Arc<dyn Fn(&Error) + Send + Sync>;

/// The server: cheap to clone, the same for every client.
#[derive(Clone)]
pub struct Server {
    state: Arc<State>,
    routes: Arc<Routes>,
    config: Arc<ServerConfig>,
    on_failure: Option<Observer>,
}

impl Server {
    /// A server of the whole catalogue. Nothing is read or opened.
    pub fn new(state: Arc<State>) -> Self {
        Self::offering(state, catalogue())
    }

    /// Hands each tool failure to `observer`, before it is answered.
    #[must_use]
    pub fn observed(self, observer: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        Self { on_failure: Some(Arc::new(observer)), ..self }
    }

    fn offering(state: Arc<State>, entries: impl Iterator<Item = &'static Entry>) -> Self {
        let routes = Arc::new(Routes::new(entries, &state));
        let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(render::implementation())
            .with_instructions(instructions::text(&state.config.policy));
        Self { state, routes, config: Arc::new(config), on_failure: None }
    }

    fn report(&self, halt: &Halt) {
        if let (Halt::Failed(error), Some(observer)) = (halt, &self.on_failure) {
            observer(error);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("state", &self.state).finish_non_exhaustive()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::clone(&self.config)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.routes.find(name).map(|route| route.tool.clone())
    }

    async fn discover(&self, _request: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(LISTING_TTL_MS))
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        request: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("the list of tools has one page", None));
        }
        let mut result = ListToolsResult::with_all_items(self.routes.listing())
            .with_ttl_ms(LISTING_TTL_MS)
            .with_cache_scope(CacheScope::Public);
        if client::is_modern(&request) {
            render::name_server(&mut result.meta);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        request: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let route = self.routes.find(&call.name).ok_or_else(failure::unknown_tool)?;
        let is_modern = client::is_modern(&request);
        let cx = Cx { state: Arc::clone(&self.state), caller: Arc::new(Client::new(request.ct)) };
        let mut result = match route.call(cx, call.arguments.unwrap_or_default()).await {
            Ok(reply) => render::reply(reply),
            Err(halt) => {
                self.report(&halt);
                failure::answer(&halt)?
            }
        };
        if is_modern {
            render::name_server(&mut result.meta);
        }
        Ok(result.into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::{
        RoleClient,
        model::{CallToolResult, ProtocolVersion},
        service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError, ServiceExt},
    };
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        config::{Args, Config, Environment},
        error::PathError,
        tools::{Access, Block, Hints, Render, VaultTool, entry},
    };

    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    enum Outcome {
        Answer,
        Fail,
        Panic,
        Cursor,
        Wait,
    }

    /// What the test tool does.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Input {
        /// How it ends.
        outcome: Outcome,
    }

    #[derive(Serialize, JsonSchema)]
    struct Output {
        scope: String,
    }

    impl Render for Output {
        fn blocks(&self) -> Vec<Block> {
            vec![Block::Text(self.scope.clone())]
        }
    }

    struct Probe;

    impl VaultTool for Probe {
        const NAME: &'static str = "test.probe";
        const TITLE: &'static str = "Probe";
        const DESCRIPTION: &'static str = "Ends as it is told.";
        const ACCESS: Access = Access::Read;
        const HINTS: Hints = HINTS;
        const LONG_ANSWERS: bool = true;
        type Input = Input;
        type Output = Output;

        async fn run(cx: &Cx, input: Input) -> Result<Output, Halt> {
            match input.outcome {
                Outcome::Answer => Ok(Output { scope: format!("{:?}", cx.caller.session()) }),
                Outcome::Fail => Err(PathError::PathTraversal { path: "../x".into() }.into()),
                Outcome::Panic => panic!("boom"),
                Outcome::Cursor => Err(Halt::MalformedCursor),
                Outcome::Wait => {
                    let flag = cx.caller.cancel_flag();
                    while !flag.is_cancelled() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    cx.state.sessions.set(
                        crate::serving::SessionKey::Process,
                        crate::serving::Selection { path: "/cancelled".into(), identity: (0, 0) },
                    );
                    Ok(Output { scope: "cancelled".into() })
                }
            }
        }
    }

    const TOOLS: &[Entry] = &[entry::<Probe>()];

    type Client = RunningService<RoleClient, ()>;

    fn server() -> Server {
        let config = Config::load(&Args::default(), &Environment::of([("HOME", "/nonexistent")])).unwrap();
        Server::offering(Arc::new(State::new(config)), TOOLS.iter())
    }

    async fn modern(server: Server) -> Client {
        let (ours, theirs) = tokio::io::duplex(65_536);
        tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        ().serve_with_lifecycle(ours, ClientLifecycleMode::Discover { preferred_versions }).await.unwrap()
    }

    async fn legacy(server: Server) -> Client {
        let (ours, theirs) = tokio::io::duplex(65_536);
        tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
        ().serve(ours).await.unwrap()
    }

    fn ending(name: &'static str, outcome: &str) -> CallToolRequestParams {
        let Value::Object(arguments) = json!({ "outcome": outcome }) else { unreachable!() };
        CallToolRequestParams::new(name).with_arguments(arguments)
    }

    fn text(result: &CallToolResult) -> &str {
        &result.content[0].as_text().unwrap().text
    }

    #[tokio::test]
    async fn a_tool_is_called_under_either_spelling_in_either_era() {
        for client in [modern(server()).await, legacy(server()).await] {
            for name in ["test_probe", "test.probe"] {
                let result = client.call_tool(ending(name, "answer")).await.unwrap();
                assert_eq!(text(&result), "Some(Process)");
                assert_eq!(result.structured_content, Some(json!({ "scope": "Some(Process)" })));
            }
        }
    }

    #[tokio::test]
    async fn the_modern_era_is_told_who_answered() {
        let result = modern(server()).await.call_tool(ending("test_probe", "answer")).await.unwrap();
        let meta = result.meta.unwrap();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "vaultwright");
        let result = legacy(server()).await.call_tool(ending("test_probe", "answer")).await.unwrap();
        assert_eq!(result.meta, None);
    }

    #[tokio::test]
    async fn a_listed_tool_has_all_its_facts() {
        let listing = modern(server()).await.list_tools(None).await.unwrap();
        assert_eq!((listing.ttl_ms, listing.cache_scope), (Some(LISTING_TTL_MS), Some(CacheScope::Public)));
        let expected = json!({
            "name": "test_probe",
            "title": "Probe",
            "description": "Ends as it is told.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "outcome": {
                        "description": "How it ends.",
                        "type": "string",
                        "enum": ["answer", "fail", "panic", "cursor", "wait"],
                    },
                },
                "additionalProperties": false,
                "required": ["outcome"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "scope": { "type": "string" } },
                "required": ["scope"],
            },
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
            "_meta": { "anthropic/maxResultSizeChars": 100_000 },
        });
        assert_eq!(json!(listing.tools), json!([expected]));
    }

    #[tokio::test]
    async fn the_list_has_one_page() {
        let page = PaginatedRequestParams::default().with_cursor(Some("x".into()));
        let error = modern(server()).await.list_tools(Some(page)).await.unwrap_err();
        assert!(matches!(error, ServiceError::McpError(error) if error.code.0 == -32602));
    }

    #[tokio::test]
    async fn a_failure_is_a_result_and_the_observer_sees_it() {
        let (sender, seen) = std::sync::mpsc::channel();
        let server = server().observed(move |error| sender.send(error.name()).unwrap());
        let result = modern(server).await.call_tool(ending("test_probe", "fail")).await.unwrap();
        assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
        let error = &result.meta.as_ref().unwrap()["dev.vaultwright/error"];
        assert_eq!(error["data"]["reason"], "path_traversal");
        assert_eq!(seen.recv().unwrap(), "path_traversal");
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let result = modern(server()).await.call_tool(ending("test_probe", "panic")).await.unwrap();
        assert!(text(&result).contains("\"reason\":\"internal\""));
    }

    #[tokio::test]
    async fn what_no_tool_can_answer_is_a_protocol_error() {
        let client = modern(server()).await;
        for call in [ending("nobody", "answer"), ending("test_probe", "cursor")] {
            let error = client.call_tool(call).await.unwrap_err();
            assert!(matches!(error, ServiceError::McpError(error) if error.code.0 == -32602));
        }
    }

    #[tokio::test]
    async fn a_cancelled_call_raises_its_flag() {
        let server = server();
        let sessions = Arc::clone(&server.state);
        let client = modern(server).await;
        let abandoned =
            tokio::time::timeout(Duration::from_millis(50), client.call_tool(ending("test_probe", "wait")));
        assert!(abandoned.await.is_err());
        let cancelled = async {
            while sessions.sessions.get(&crate::serving::SessionKey::Process).is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), cancelled).await.unwrap();
    }
}
