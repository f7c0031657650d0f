//! Settings of the server itself.

use super::{ConfigError, value::Given};

/// The levels of our own log lines, fewest first.
const LEVELS: &[(&str, &str)] =
    &[("error", "error"), ("warn", "warn"), ("info", "info"), ("debug", "debug"), ("trace", "trace")];

/// The spelling in which dotted seed names are listed; a call is accepted in either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolNameStyle {
    /// `vault_select`.
    #[default]
    Underscore,
    /// `vault.select`.
    Dotted,
}

/// Settings of the server itself, unvalidated.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ServeArgs {
    /// How the server is reached: `stdio`
    #[arg(
        long,
        env = "MCP_TRANSPORT_TYPE",
        global = true,
        visible_alias = "transport",
        value_name = "TRANSPORT",
        default_value = "stdio"
    )]
    pub transport_type: Option<String>,

    /// How tools with a dot in their name are listed: `underscore` or `dotted`; a call may use either
    #[arg(long, env, global = true, value_name = "STYLE", default_value = "underscore")]
    pub tool_name_style: Option<String>,

    /// Which log lines go to stderr: `error`, `warn`, `info`, `debug` or `trace`
    #[arg(long, env = "MCP_LOG_LEVEL", global = true, value_name = "LEVEL", default_value = "warn")]
    pub log_level: Option<String>,
}

impl ServeArgs {
    /// Refuses a transport this version does not have.
    pub(super) fn check_transport(&self) -> Result<(), ConfigError> {
        let given = Given::new("MCP_TRANSPORT_TYPE", self.transport_type.as_ref());
        match given.text() {
            None | Some("stdio") => Ok(()),
            Some("http") => Err(given.refuse("HTTP is not in this version, only `stdio`")),
            Some(_) => Err(given.refuse("must be `stdio`")),
        }
    }

    pub(super) fn tool_names(&self) -> Result<ToolNameStyle, ConfigError> {
        let styles = [("underscore", ToolNameStyle::Underscore), ("dotted", ToolNameStyle::Dotted)];
        Given::new("TOOL_NAME_STYLE", self.tool_name_style.as_ref()).choice(ToolNameStyle::default(), &styles)
    }

    pub(super) fn log_level(&self) -> Result<String, ConfigError> {
        Given::new("MCP_LOG_LEVEL", self.log_level.as_ref()).choice("warn", LEVELS).map(str::to_owned)
    }
}
