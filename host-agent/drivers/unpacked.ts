import type { Commands } from '../../src/ports/commands.ts';
import type { Disk } from '../../src/ports/disk.ts';
import type { ArtifactCache } from '../artifacts/artifacts.ts';
import { DerivedFolders } from './derived-folders.ts';
import { runOnBench } from './toolbox.ts';

/** A small archive can hold a large tree: so much larger at most. */
const TREE_BYTES_MAX = 16 * 1024 * 1024 * 1024;

/** The shell counts, so that no other program is needed. */
const SCRIPT = `set -e
tar -tvf /in >/tmp/list
bytes=0
while read -r mode owner size rest; do
  case $size in *[!0-9]*) ;; *) bytes=$((bytes + size)) ;; esac
done </tmp/list
[ "$bytes" -le ${String(TREE_BYTES_MAX)} ] || { echo "unpacked it has $bytes bytes" >&2; exit 9; }
tar -xf /in -C /out --no-same-owner --no-same-permissions --delay-directory-restore
exec chmod -R go+rX /out`;

/** Archives as folders. `ensure` throws PrepareError when it is no archive, or too large a one. */
export function unpackedFiles(commands: Commands, disk: Disk, cache: ArtifactCache): DerivedFolders {
  return new DerivedFolders(disk, cache, 'cas/tree', (sha256, into) =>
    runOnBench(commands, disk, { input: cache.pathOf(sha256), output: into }, SCRIPT),
  );
}
