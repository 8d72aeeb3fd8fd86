package trial

import "embed"

// Schemas holds the JSON Schemas of the files, "schemas/trial.schema.json" and so on.
//
//go:embed schemas/*.json
var Schemas embed.FS
