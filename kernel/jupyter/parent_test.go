//go:build !windows

package jupyter

import (
	"os"
	"os/exec"
	"testing"
)

func TestParent(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep: ", err)
	}
	pid := cmd.Process.Pid
	p := watchParent(pid)
	if p.gone() {
		t.Error("a living process counts as gone")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if !p.gone() {
		t.Error("a process that has ended counts as there")
	}
	// One that can't be seen from the start is not watched: it may live in another container.
	if p := watchParent(pid); p.named != 0 || p.gone() {
		t.Errorf("%+v", p)
	}
	if p := watchParent(0); p.gone() || p.direct != os.Getppid() {
		t.Errorf("%+v", p)
	}
}
