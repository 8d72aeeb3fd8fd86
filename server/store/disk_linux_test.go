package store

import "testing"

func TestMount(t *testing.T) {
	for _, c := range []struct {
		line, device, kind string
	}{
		{`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, "98:0", "ext3"},
		{`100 29 0:52 / /home/ann/box rw,nosuid,nodev - fuse.sshfs ann@box:/ rw,user_id=0`, "0:52", "fuse.sshfs"},
		{`101 29 0:53 / /a\040-\040b rw shared:3 - virtiofs share rw`, "0:53", "virtiofs"},
		{`torn`, "", ""},
		{``, "", ""},
	} {
		if device, kind := mount(c.line); device != c.device || kind != c.kind {
			t.Errorf("mount(%q) = %q, %q; want %q, %q", c.line, device, kind, c.device, c.kind)
		}
	}
}

func TestLocalFileSystem(t *testing.T) {
	if kind, err := networkFileSystem(t.TempDir()); err != nil || kind != "" {
		t.Skipf("the folder for temporary files is on %s (%v)", kind, err)
	}
	if _, err := networkFileSystem("/no/such/folder"); err == nil {
		t.Error("a folder that doesn't exist is on a file system")
	}
}
