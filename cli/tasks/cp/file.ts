import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, open, rename, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CliError, EXIT } from '../../command/exit.ts';
import type { AllocationPath } from './script.ts';
import { askScript, runScript } from './script.ts';
import { targetOf } from './unpack.ts';

/** Less than a host keeps of one command's output, so that no byte is dropped before it is read. */
const PART_BYTES = 4 * 1024 * 1024;

export interface Copied {
  readonly to: string;
  readonly bytes: number;
}

/** One file out of an allocation, in parts; compared by checksum before it takes its name. */
export async function fileOut(place: AllocationPath, to: string): Promise<Copied> {
  const target = await targetOf(to, basename(place.path));
  const part = `${target}.part`;
  const [size = 0, mode = '644'] = (await askScript(place, 'wc -c < "$1" && stat -c %a "$1"')).split(/\s+/);
  const bytes = Number(size);
  const hash = createHash('sha256');
  const file = await open(part, 'w');
  try {
    for (let at = 0; at < bytes; at += PART_BYTES)
      await runScript(place, {
        text: `tail -c +${String(at + 1)} "$1" | head -c ${String(Math.min(PART_BYTES, bytes - at))}`,
        onOutput: async (chunk) => {
          hash.update(chunk);
          await file.write(chunk);
        },
      });
  } finally {
    await file.close();
  }
  compare(await askScript(place, 'sha256sum < "$1"'), hash.digest('hex'), place.path);
  await chmod(part, parseInt(mode, 8) & 0o777);
  await rename(part, target);
  return { to: target, bytes };
}

/** One file into an allocation; compared by checksum there before it takes its name. */
export async function fileIn(from: string, place: AllocationPath): Promise<Copied> {
  const found = await stat(from);
  const hash = createHash('sha256');
  const mode = (found.mode & 0o777).toString(8);
  const target = 'set -e; to="$1"; if test -d "$to"; then to="$to/$2"; fi';
  const name = basename(from);
  let answer = '';
  await runScript(place, {
    text: `${target}; cat > "$to.part"; chmod "$3" "$to.part"; sha256sum < "$to.part"`,
    args: [name, mode],
    feed: async (session) => {
      for await (const chunk of createReadStream(from)) {
        hash.update(chunk as Buffer);
        await session.write(Uint8Array.from(chunk as Buffer));
      }
      session.endInput();
    },
    onOutput: (bytes) => void (answer += Buffer.from(bytes).toString()),
  });
  compare(answer, hash.digest('hex'), from);
  await askScript(place, `${target}; mv "$to.part" "$to"`, [name]);
  return { to: place.path, bytes: found.size };
}

function compare(answer: string, wanted: string, path: string): void {
  if (answer.slice(0, 64) === wanted) return;
  throw new CliError(
    EXIT.ownFault,
    `${path} was changed on the way, or while it was copied`,
    'copy it again',
  );
}
