package cells

import (
	"encoding/base64"

	"github.com/easeml/easeml/kernel/jupyter"
	"github.com/easeml/easeml/kernel/show"
)

// bundle is an output in the forms of a notebook.
func bundle(o show.Output) jupyter.Bundle {
	data := map[string]any{"text/plain": o.Text}
	if o.HTML != "" {
		data["text/html"] = o.HTML
	}
	if o.Vega != nil {
		data["application/vnd.vegalite.v5+json"] = o.Vega
	}
	if len(o.PNG) > 0 {
		data["image/png"] = base64.StdEncoding.EncodeToString(o.PNG)
	}
	return jupyter.Bundle{Data: data}
}
