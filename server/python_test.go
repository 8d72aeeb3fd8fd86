package server

import (
	"os"
	"path/filepath"
	"testing"
)

// A Python that was named relative to the working directory is found from everywhere.
func TestFindPythonIsAbsolute(t *testing.T) {
	t.Chdir("..")
	relative := filepath.Join(".venv", "bin", "python")
	if _, err := os.Stat(relative); err != nil {
		t.Skip("the Python environment is missing: make setup")
	}
	want, err := filepath.Abs(relative)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EASEML_PYTHON", relative)
	for _, given := range []string{relative, ""} {
		if path, err := FindPython(t.Context(), given, "nowhere/easeml"); err != nil || path != want {
			t.Errorf("given %q it finds %q, not %q (%v)", given, path, want, err)
		}
	}
}
