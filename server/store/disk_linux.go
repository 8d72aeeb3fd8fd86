package store

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// networkFileSystem names the network or cluster file system that dir is on,
// or returns "" where it is on a local one.
func networkFileSystem(dir string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "", err
	}
	magic := uint32(fs.Type)
	if magic != fuseMagic {
		return networkMagic[magic], nil
	}
	// FUSE is many file systems; the table of mounts knows which.
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return "", err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", nil // no table to look at: WAL is tried, and refused if it doesn't hold
	}
	defer f.Close()
	device := fmt.Sprintf("%d:%d", major(st.Dev), minor(st.Dev))
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if on, kind := mount(lines.Text()); on == device && !localFuse[kind] {
			return kind, nil
		}
	}
	return "", nil
}

// The numbers are those of statfs(2) and the kernel's linux/magic.h.
const fuseMagic = 0x65735546

var networkMagic = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x19830326: "beegfs",
	0xaad7aaea: "panfs",
	0x20030528: "orangefs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x73757245: "coda",
	0x564c:     "ncp",
}

// localFuse are the FUSE file systems whose files lie on this machine. All
// others (sshfs, rclone, s3fs, glusterfs, …) count as network ones.
var localFuse = map[string]bool{
	"fuseblk":             true,
	"virtiofs":            true,
	"fuse.fuse-overlayfs": true,
	"fuse.ntfs-3g":        true,
	"fuse.exfat":          true,
	"fuse.mergerfs":       true,
	"fuse.bindfs":         true,
	"fuse.encfs":          true,
	"fuse.gocryptfs":      true,
	"fuse.cryfs":          true,
}

// mount reads the device (major:minor) and the type from a line of mountinfo:
// fields up to " - ", the third of them the device, then the type.
func mount(line string) (device, kind string) {
	before, after, ok := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 3 || len(rest) < 1 {
		return "", ""
	}
	return fields[2], rest[0]
}

// major and minor take a device number apart as the kernel puts it together.
func major(dev uint64) uint64 { return dev>>8&0xfff | dev>>32&^0xfff }
func minor(dev uint64) uint64 { return dev&0xff | dev>>12&^0xff }
