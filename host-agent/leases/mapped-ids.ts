import type { IdRange } from '../../src/core/host/shim.ts';
import type { Commands } from '../../src/ports/commands.ts';

const LOOK_MS = 10_000;
const MAPS = 'cat /proc/[0-9]*/uid_map /proc/[0-9]*/gid_map 2>/dev/null | sort -u';

/** Ids that user namespaces of this machine have, whoever made them: another host on it, or another container engine. */
export async function mappedIds(commands: Commands): Promise<readonly IdRange[]> {
  const { out } = await commands.run(['sh', '-c', MAPS], LOOK_MS);
  return readMaps(out);
}

/** Each line has the first id inside, the first outside, and how many. That of the machine itself maps all to themselves. */
export function readMaps(text: string): readonly IdRange[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([inside, first]) => first !== undefined && (inside !== 0 || first !== 0))
    .map(([, first = 0, count = 0]) => ({ first, count }));
}
