// Package connect finds the server that a kernel talks to, or starts a private
// one.
//
// What happens here: the order in which a server is looked for (a statement's
// URL, the environment, the site's configuration, a private server), the file a
// private server leaves for others to find it, the lock that makes many kernels
// at once start one server, and the start itself.
//
// What doesn't: requests (package api) and the server. The server process
// publishes itself with Publish and withdraws with Withdraw.
package connect
