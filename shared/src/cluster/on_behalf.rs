//! Somebody on whose behalf a request is sent. Pure.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// Somebody whom requests name in `Impersonate-*` headers
/// (<https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/>).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnBehalf {
    /// `Impersonate-User`.
    pub user: String,
    /// `Impersonate-Group`, once per group.
    pub groups: Vec<String>,
}

impl OnBehalf {
    /// Names them in the headers of a request; names beyond ASCII travel as UTF-8.
    ///
    /// # Errors
    /// The name that no header can carry.
    pub fn name_in(&self, headers: &mut HeaderMap) -> Result<(), String> {
        let names = std::iter::once((USER, &self.user))
            .chain(self.groups.iter().map(|group| (GROUP, group)));
        for (header, name) in names {
            let value = HeaderValue::from_bytes(name.as_bytes()).map_err(|_| name.clone())?;
            headers.append(HeaderName::from_static(header), value);
        }
        Ok(())
    }
}

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
