//! The plugin's own flags, and what they mean together. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use karmada_repair::cli::connection::named_once;
use karmada_repair::error::UsageError;

use crate::account::{Account, MASTERS, STAY_BEHIND};
use crate::grant::Scope;

/// The plugin's own flags.
#[derive(Debug, Args)]
pub struct GrantImpersonateArgs {
    /// Member clusters to give access to [default: all]
    #[arg(value_name = "CLUSTER")]
    names: Vec<String>,
    /// Member clusters to give access to, as karmadactl takes them
    #[arg(short = 'C', long, value_name = "CLUSTER", value_delimiter = ',')]
    clusters: Vec<String>,
    /// A user to give access to, instead of yourself; can be repeated
    #[arg(id = "subject_user", long = "user", value_name = "USER")]
    users: Vec<String>,
    /// A service account of the control plane to give access to; can be repeated
    #[arg(long, value_name = "NAMESPACE:NAME")]
    serviceaccount: Vec<String>,
    /// A group whose members all get access; can be repeated
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// A group that the users of --user carry: members must accept it, it gets no access of its own; can be repeated
    #[arg(long, value_name = "GROUP", requires = "subject_user")]
    in_group: Vec<String>,
    /// A kubeconfig whose user gets access; its certificate or token is read, and its rights are not used
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["subject_user", "serviceaccount", "group", "in_group"]
    )]
    from_kubeconfig: Option<PathBuf>,
    /// What may be done through the proxy: get, create, update, patch, delete or "*" for all
    #[arg(
        long,
        value_name = "VERB",
        value_delimiter = ',',
        default_value = "get"
    )]
    verbs: Vec<String>,
    /// Also bind this ClusterRole in the members, such as view, edit or cluster-admin
    #[arg(long, value_name = "NAME")]
    member_role: Option<String>,
    /// Remove what this plugin granted, and only that
    #[arg(long, conflicts_with_all = ["list", "member_role"])]
    revoke: bool,
    /// Show who can pass to members, and through which binding; write nothing
    #[arg(long, conflicts_with = "member_role")]
    list: bool,
}

/// What the flags mean together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The members, as they were named, without duplicates; empty = all.
    pub members: Vec<String>,
    /// Who is meant.
    pub who: Who,
    /// What is granted through the proxy, sorted.
    pub verbs: BTreeSet<String>,
    /// The ClusterRole to bind in members; `None` = none.
    pub member_role: Option<String>,
    /// What is done.
    pub task: Task,
}

/// Who is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Who runs the plugin.
    Caller,
    /// Those who are named, without duplicates.
    Named {
        /// Users, service accounts, groups.
        accounts: Vec<Account>,
        /// Groups that the users carry, beside the named ones.
        carried: Vec<String>,
    },
    /// The user of a kubeconfig.
    Kubeconfig(PathBuf),
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Access is given, and what stands in its way is repaired.
    Grant,
    /// Access that this plugin gave is taken away.
    Revoke,
    /// Who has access is shown.
    List,
}

impl Config {
    /// What the flags mean together.
    ///
    /// # Errors
    /// When the command line cannot be followed.
    pub fn resolve(args: GrantImpersonateArgs) -> Result<Config, UsageError> {
        let GrantImpersonateArgs {
            names,
            clusters,
            users,
            serviceaccount,
            group,
            in_group,
            from_kubeconfig,
            verbs,
            member_role,
            revoke,
            list,
        } = args;
        let members = named_once(names.into_iter().chain(clusters))?;
        let mut accounts = Vec::new();
        for name in &users {
            accounts.push(user(name)?);
        }
        for text in &serviceaccount {
            accounts.push(Account::of_service_account(text).ok_or_else(|| {
                UsageError::new(format!(
                    "--serviceaccount {text:?} names no service account"
                ))
                .with_hint("write it as --serviceaccount NAMESPACE:NAME")
            })?);
        }
        for name in &group {
            accounts.push(grantable_group(name)?);
        }
        for name in &in_group {
            nonempty("--in-group", name)?;
        }
        let mut seen = BTreeSet::new();
        accounts.retain(|account| seen.insert(account.clone()));
        let who = match from_kubeconfig {
            Some(file) => Who::Kubeconfig(file),
            None if accounts.is_empty() => Who::Caller,
            None => Who::Named {
                accounts,
                carried: group.into_iter().chain(in_group).collect(),
            },
        };
        if member_role
            .as_deref()
            .is_some_and(|name| name.is_empty() || name.contains(['/', '%']))
        {
            return Err(UsageError::new("--member-role names no ClusterRole"));
        }
        Ok(Config {
            members,
            who,
            verbs: verbs.into_iter().map(verb).collect::<Result<_, _>>()?,
            member_role,
            task: match (revoke, list) {
                (true, _) => Task::Revoke,
                (_, true) => Task::List,
                (false, false) => Task::Grant,
            },
        })
    }

    /// The members that a grant is for.
    pub fn scope(&self) -> Scope {
        Scope::of(&self.members)
    }

    /// Whether nobody was named, so that a list shows everybody.
    pub fn names_nobody(&self) -> bool {
        self.who == Who::Caller
    }
}

fn user(name: &str) -> Result<Account, UsageError> {
    nonempty("--user", name)?;
    if name == "system:anonymous" {
        return Err(UsageError::new(
            "--user system:anonymous is nobody in particular: it is not granted",
        ));
    }
    Ok(Account::of_user_name(name))
}

fn grantable_group(name: &str) -> Result<Account, UsageError> {
    nonempty("--group", name)?;
    if name == MASTERS {
        return Err(UsageError::new(
            "--group system:masters is not granted: it is the superuser of every cluster that accepts it",
        ));
    }
    if STAY_BEHIND.contains(&name) {
        return Err(UsageError::new(format!(
            "--group {name} is not granted: it is everybody"
        )));
    }
    Ok(Account::Group {
        name: name.to_owned(),
    })
}

/// A name that can be sent in a header, where it must arrive unchanged.
fn nonempty(flag: &str, name: &str) -> Result<(), UsageError> {
    if name.is_empty() {
        return Err(UsageError::new(format!("{flag} has no name")));
    }
    if name.chars().any(char::is_control) {
        return Err(UsageError::new(format!(
            "{flag} {name:?} has characters that no request can carry"
        )));
    }
    if name.trim() != name {
        return Err(UsageError::new(format!(
            "{flag} {name:?} begins or ends with a space, which requests lose on their way"
        )));
    }
    Ok(())
}

fn verb(verb: String) -> Result<String, UsageError> {
    match verb.as_str() {
        "get" | "create" | "update" | "patch" | "delete" | "*" => Ok(verb),
        "list" | "watch" => Err(UsageError::new(format!(
            "--verbs {verb} matches no request: whatever is read through the proxy is a get of clusters/proxy"
        ))
        .with_hint("write --verbs get")),
        _ => Err(UsageError::new(format!(
            "--verbs {verb:?} matches no request to clusters/proxy"
        ))
        .with_hint("choose among get, create, update, patch, delete and \"*\"")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: GrantImpersonateArgs,
    }

    fn config(words: &[&str]) -> Result<Config, String> {
        let words = std::iter::once("plugin").chain(words.iter().copied());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Config::resolve(line.args).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_name_the_caller_is_meant() {
        let config = config(&["a", "-C", "b,a"]).expect("the words are right");
        assert_eq!(config.who, Who::Caller);
        assert_eq!(config.members, ["a", "b"]);
        assert_eq!(config.verbs, BTreeSet::from(["get".to_owned()]));
    }

    #[test]
    fn names_are_kept_as_they_are_written() {
        for name in [
            "oidc:jane@example.com",
            "CN=jane/ou",
            "system:admin",
            "日本 é",
            "a b",
            "*",
        ] {
            let config = config(&["--user", name]).expect("the name is right");
            let Who::Named { accounts, .. } = config.who else {
                panic!("{name} is named");
            };
            assert_eq!(accounts[0].user_name().as_deref(), Some(name));
        }
    }

    #[test]
    fn a_named_group_is_one_that_the_named_users_carry() {
        let config = config(&[
            "--user",
            "jane",
            "--user",
            "jane",
            "--group",
            "devs",
            "--in-group",
            "qa",
        ])
        .expect("the words are right");
        let Who::Named { accounts, carried } = config.who else {
            panic!("they are named");
        };
        assert_eq!(accounts.len(), 2);
        assert_eq!(carried, ["devs", "qa"]);
    }

    #[test]
    fn what_cannot_be_granted_is_refused() {
        let table = [
            (vec!["--user", ""], "has no name"),
            (vec!["--group", ""], "has no name"),
            (vec!["--user", " jane"], "begins or ends with a space"),
            (vec!["--user", "ja\nne"], "no request can carry"),
            (vec!["--group", "system:masters"], "superuser"),
            (vec!["--group", "system:authenticated"], "everybody"),
            (vec!["--user", "system:anonymous"], "nobody in particular"),
            (vec!["--serviceaccount", "bot"], "names no service account"),
            (
                vec!["--serviceaccount", "ns/bot"],
                "names no service account",
            ),
            (vec!["--verbs", "list"], "matches no request"),
            (vec!["--verbs", "impersonate"], "matches no request"),
            (vec!["--in-group", "qa"], "--user"),
            (vec!["--revoke", "--list"], "cannot be used with"),
            (
                vec!["--from-kubeconfig", "f", "--user", "a"],
                "cannot be used with",
            ),
            (vec!["--member-role", "a/b"], "names no ClusterRole"),
            (vec![""], "cluster name is empty"),
        ];
        for (words, part) in table {
            let error = config(&words).expect_err("it is refused");
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
