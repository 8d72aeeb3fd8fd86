// Package http is the edge of the server: the resources of /api/v1 and the
// event stream.
//
// What happens here: who is asking (the token in Authorization), what they may
// see (a task one may not see is not there), shapes and limits of requests,
// uploads, conversion of the store's rows and the search's live state into the
// wire's views, events put under the names that people know, answers that are
// given once per idempotency key, metrics, and the OpenAPI document.
//
//	request ─ log ─ origin ─ token ─ once ─▶ handler ─▶ search (commands)
//	                                            │──────▶ store  (views, one snapshot)
//	                                            └──────▶ answer (infer)
//
// What doesn't: nothing here decides about a task. Commands go to server/search,
// which commits; this room only writes rows of uploads and of idempotency keys.
// There are no words for people but the sentences of problems.
package http
