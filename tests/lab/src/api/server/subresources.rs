//! The subresources that are no part of their object: the scale of a Deployment, the token of a service account.

use http::Method;
use serde_json::json;

use super::{ApiServer, Outcome};
use crate::api::identity::User;
use crate::api::kinds::Kind;
use crate::api::patch::Patch;
use crate::api::refusal::Refusal;
use crate::api::registry::{self, Address, Options};
use crate::api::request::Resource;
use crate::api::{controllers, scale};
use crate::wire::Call;

impl ApiServer {
    pub(super) fn scale(
        &self,
        kind: &'static Kind,
        resource: &Resource,
        call: &Call,
    ) -> Result<Outcome, Refusal> {
        let address = Address::of(kind, &resource.namespace, &resource.name);
        let deployment = match call.method {
            Method::GET => self.registry.read(address)?,
            Method::PUT | Method::PATCH => {
                let patch = Patch::Merge(scale::patch(&call.json()?));
                let manager = registry::default_manager(call.header(http::header::USER_AGENT));
                let options = Options {
                    manager,
                    ..Options::default()
                };
                self.registry.patch(address, patch, &options)?.0
            }
            _ => return Err(Refusal::method_not_allowed()),
        };
        Ok(Outcome::Object(200, scale::of(&deployment)))
    }

    pub(super) fn issue_token(
        &self,
        kind: &'static Kind,
        resource: &Resource,
        call: &Call,
    ) -> Result<Outcome, Refusal> {
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        self.registry
            .read(Address::of(kind, &resource.namespace, &resource.name))?;
        let token = controllers::token(&resource.namespace, &resource.name, "");
        self.add_token(
            &token,
            User::service_account(&resource.namespace, &resource.name),
        );
        let mut answer = call.json()?;
        answer["status"] = json!({"token": token, "expirationTimestamp": registry::now()});
        Ok(Outcome::Object(201, answer))
    }
}
