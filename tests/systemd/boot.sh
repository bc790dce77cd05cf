#!/bin/sh
# Boots systemd on a copy-on-write view of this machine, in namespaces of its own:
#   boot.sh PLACE PREPARE    PLACE: an empty directory; PREPARE: a script run in the new root before the boot
# Run as: unshare --mount --pid --net --ipc --uts --cgroup --fork --propagation private boot.sh …
# PLACE/shared is /shared inside. Nothing else that is written inside is seen outside, and all of
# it is gone with the first process.
set -eu
place=$1 prepare=$2
mkdir -p "$place/layer" "$place/root" "$place/shared"
mount -t tmpfs layer "$place/layer"
mkdir "$place/layer/upper" "$place/layer/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$place/layer/upper,workdir=$place/layer/work" \
  "$place/root"
cd "$place/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
for name in null zero full random urandom tty; do
  : >"dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir -p dev/shm dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t devpts -o newinstance,ptmxmode=666 pts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -p shared
mount --bind "$place/shared" shared

# A boot of nothing but the journal.
: >etc/fstab
rm -rf lib/systemd/system-generators lib/systemd/system/*.target.wants etc/systemd/system/*.wants
printf '[Unit]\nDescription=Up\nRequires=sysinit.target\nAfter=sysinit.target\n' \
  >etc/systemd/system/up.target
mkdir -p etc/systemd/system/sysinit.target.wants
for unit in systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service; do
  ln -s "/lib/systemd/system/$unit" etc/systemd/system/sysinit.target.wants/
done
(. "$prepare")

mkdir -p old
pivot_root . old
umount -l old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=up.target \
  --show-status=no --log-target=null
