//! The clusters that the loaded kubeconfig leads to, by the names of its contexts.

use crate::access::Access;
use crate::cluster::client::ClusterClient;

impl Access {
    /// The client of a context of the loaded kubeconfig, for a person who named none; `None` = there is no such context,
    /// it cannot be used, or using it would open a login.
    pub fn loaded_context(&self, name: &str) -> Option<ClusterClient> {
        let contexts = self.kubeconfig.contexts();
        contexts
            .iter()
            .find(|context| context.name == name && !context.runs_a_login)?;
        let options = self
            .options
            .connection
            .for_context(None, Some(name.to_owned()));
        self.connector.connect(&self.kubeconfig, &options).ok()
    }
}
