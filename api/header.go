package api

// prefix is the path that every resource lies under.
const prefix = "/api/v1"

// Headers and content types of the protocol.
const (
	SeqHeader      = "Easeml-Seq"      // answers every GET: the event it is current to
	UploadOffset   = "Upload-Offset"   // of HEAD and PATCH /uploads/{id}: bytes that are there
	UploadLength   = "Upload-Length"   // of HEAD /uploads/{id}: bytes in all
	IdempotencyKey = "Idempotency-Key" // of writes: same key and request, one effect and one answer
	ProblemType    = "application/problem+json"
	NDJSONType     = "application/x-ndjson"
	ChunkType      = "application/offset+octet-stream" // of PATCH /uploads/{id}
)
