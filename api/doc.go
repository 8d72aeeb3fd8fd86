// Package api is the wire between a client and the server: the structs that
// travel as JSON, and a Client that sends them.
//
// What happens here: shapes of requests, views and events (format of
// /api/v1), the HTTP client, the event stream with resume, resumable uploads.
// What doesn't: rows of the store, indices of the allocator, words for
// people. Conversions live in server/http and kernel/show.
package api
