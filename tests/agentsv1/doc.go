// Package agentsv1 drives a host's Agents API by the official SDK, whose types are
// the API's schema. It is a module of its own, so that the host does not depend on
// what only these tests need.
package agentsv1
