#!/bin/sh
# An image archive of this machine's busybox, as `docker save` would write it: FOLDER/busybox.tar. Beside it a copy of
# oci.yaml that names it with its SHA-256.
set -eu
[ $# = 1 ] || { echo "usage: sh $0 FOLDER" >&2; exit 64; }
busybox=$(command -v busybox) || { echo "install busybox first: apt-get install busybox-static" >&2; exit 1; }
if ldd "$busybox" 2>/dev/null | grep -q '=>'; then
  echo "$busybox needs libraries that the image would not have: apt-get install busybox-static" >&2
  exit 1
fi
mkdir -p "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/bin" "$work/root/etc" "$work/image"
cp "$busybox" "$work/root/bin/busybox"
for name in $("$busybox" --list); do
  [ -e "$work/root/bin/$name" ] || ln -s busybox "$work/root/bin/$name"
done
echo 'root:x:0:0:root:/:/bin/sh' >"$work/root/etc/passwd"
# The same bytes whenever it is made, so that the archive keeps its SHA-256.
pack() { tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$1" -cf "$2" .; }
pack "$work/root" "$work/image/layer.tar"
echo '{"config":{"Env":["PATH=/bin","GREETING=hello from the image"]}}' >"$work/image/config.json"
echo '[{"Config":"config.json","Layers":["layer.tar"]}]' >"$work/image/manifest.json"
pack "$work/image" "$1/busybox.tar"
sum=$(sha256sum "$1/busybox.tar" | cut -c1-64)
sed "s/^  sha256: .*/  sha256: $sum/" "$(dirname "$0")/oci.yaml" >"$1/oci.yaml"
cat <<TEXT
$1/busybox.tar has SHA-256 $sum. Now serve it, and run the job:

  python3 -m http.server --bind 127.0.0.1 --directory $1 8099 &
  npx moorage run $1/oci.yaml
TEXT
