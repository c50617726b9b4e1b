// Package agentsv1 is a second face of the host's sessions: the Agents API of
// OpenAI's beta agents=v1, so that its SDKs drive this host unchanged. It holds
// only what is that API's own: its bodies, its errors, its ids of items, and the
// order of its events. What it does it does through host.Access, as any caller.
//
// A Handler answers /v1/agents and all below it, and refuses the rest of the beta. Values of the API that the host
// has no place for, such as a session's tools and instructions, are kept as one
// named value of the session's state.
package agentsv1
