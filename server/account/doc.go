// Package account knows who somebody is: users by their tokens.
//
// What happens here. [Accounts.Ensure] makes users, [Accounts.NewToken] gives
// them tokens, [Accounts.Authenticate] finds the user of a token. A token is
// shown once, when it is made; the store keeps its SHA-256 only. No token is
// ever written to a log or an error.
//
// What doesn't. What a user may do is decided where it is done. Another source
// of identity, such as a JupyterHub that vouches for its users, takes the place
// of Accounts as an [Authenticator] and makes the users it meets with
// [Accounts.Ensure].
package account
