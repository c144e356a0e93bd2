import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { findAllocation } from '../find-allocation.ts';

/** Less than a host keeps of one command's output, so that none is given up before it is read. */
const PART_BYTES = 4 * 1024 * 1024;

interface Inside {
  readonly api: MonitorClient;
  readonly allocation: string;
  readonly path: string;
  readonly task?: string;
}

/**
 * Copies one file into an allocation or out of it, in commands of `sh`, `cat`, `head`, `tail` and `sha256sum` there. What
 * arrived is compared by checksum before it takes the file's name.
 */
export async function cp(
  context: Context,
  from: string,
  to: string,
  options: { readonly task?: string },
): Promise<number> {
  const [source, target] = [inside(from), inside(to)];
  if ((source === null) === (target === null))
    throw usageError('one of the two must be inside: NAME:PATH', 'moorage cp web[0]:/etc/hosts .');
  const api = await context.api();
  const place = async (written: { name: string; path: string }): Promise<Inside> => ({
    ...{ api, path: written.path, ...options },
    allocation: await findAllocation(context, api, written.name),
  });
  if (source !== null) await download(await place(source), to, context);
  else if (target !== null) await upload(from, await place(target), context);
  return EXIT.ok;
}

/** `web[2]:/path`; a local path with a colon in it is written `./a:b`. */
function inside(written: string): { readonly name: string; readonly path: string } | null {
  const parts = /^([^/.][^:/]*(?:\/[^:/]+)?):(.+)$/.exec(written);
  return parts === null ? null : { name: parts[1] ?? '', path: parts[2] ?? '' };
}

async function download(place: Inside, to: string, context: Context): Promise<void> {
  const isFolder = await stat(to).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const target = isFolder ? join(to, basename(place.path)) : to;
  const part = `${target}.part`;
  const size = Number(await said(place, 'test -f "$1" && wc -c < "$1"'));
  const hash = createHash('sha256');
  const file = await open(part, 'w');
  try {
    for (let at = 0; at < size; at += PART_BYTES) {
      const bytes = await run(
        place,
        `tail -c +${String(at + 1)} "$1" | head -c ${String(Math.min(PART_BYTES, size - at))}`,
      );
      hash.update(bytes);
      await file.write(bytes);
    }
  } finally {
    await file.close();
  }
  compare(await said(place, 'sha256sum < "$1"'), hash.digest('hex'), place.path);
  await rename(part, target);
  context.terminal.err(`${place.path} → ${target} (${String(size)} bytes)\n`);
}

async function upload(from: string, place: Inside, context: Context): Promise<void> {
  const found = await stat(from).catch((error: Error) => {
    throw new CliError(EXIT.usage, `cannot read ${from}: ${error.message}`, null, error);
  });
  if (!found.isFile()) throw usageError(`${from} is no file`, 'copy files one by one');
  const hash = createHash('sha256');
  const mode = (found.mode & 0o777).toString(8);
  const target = 'set -e; to="$1"; if test -d "$to"; then to="$to/$2"; fi';
  const take = `${target}; cat > "$to.part"; chmod "$3" "$to.part"; sha256sum < "$to.part"`;
  const answer = await run(place, take, [basename(from), mode], async (session) => {
    for await (const chunk of createReadStream(from)) {
      hash.update(chunk as Buffer);
      await session.write(Uint8Array.from(chunk as Buffer));
    }
    session.endInput();
  });
  compare(answer.toString(), hash.digest('hex'), from);
  await run(place, `${target}; mv "$to.part" "$to"`, [basename(from)]);
  context.terminal.err(`${from} → ${place.path} (${String(found.size)} bytes)\n`);
}

function compare(answer: string, wanted: string, path: string): void {
  if (answer.slice(0, 64) === wanted) return;
  throw new CliError(
    EXIT.ownFault,
    `${path} was changed on the way, or while it was copied`,
    'copy it again',
  );
}

async function said(place: Inside, script: string): Promise<string> {
  return (await run(place, script)).toString().trim();
}

/** Runs a script with the path as `$1`. @returns its output @throws CliError with what it said when it fails */
async function run(
  place: Inside,
  script: string,
  args: readonly string[] = [],
  feed?: (session: AttachSession) => Promise<void>,
): Promise<Buffer> {
  const { api, allocation, path, task } = place;
  const commandId = randomUUID();
  await api.exec(allocation, {
    commandId,
    command: ['sh', '-c', script, 'cp', path, ...args],
    ...(task === undefined ? {} : { task }),
    ...(feed === undefined ? {} : { input: true }),
  });
  const output: Uint8Array[] = [];
  const errors: Uint8Array[] = [];
  const session = new AttachSession(
    { allocation, command: commandId },
    {
      channels: webSocketClient(),
      clock: systemClock,
      random: systemRandom,
      addresses: () => api.addresses,
      onOutput: (stream, bytes) => void (stream === 'stdout' ? output : errors).push(Uint8Array.from(bytes)),
    },
  );
  const [end] = await Promise.all([session.run(new AbortController().signal), feed?.(session)]);
  if (end?.exit.code === 0) return Buffer.concat(output);
  const why = Buffer.concat(errors).toString().trim().split('\n').at(-1) ?? '';
  throw new CliError(EXIT.ownFault, `cannot copy ${path}: ${why === '' ? 'it is no file there' : why}`);
}
