import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import type { AttachSession } from '../../../src/clients/attach-session.ts';
import { CliError, EXIT } from '../../command/exit.ts';
import type { AllocationPath } from './script.ts';
import { runScript } from './script.ts';
import { readTar, TarError } from './tar-reader.ts';
import type { Unpacked } from './unpack.ts';
import { targetOf, unpack } from './unpack.ts';

/**
 * The archive comes in pieces, one for each line of input: a host keeps only so much of a command's output, and a piece that is
 * not asked for is not written. `dd` prints how long each piece was.
 */
const PACK = `command -v tar >/dev/null && command -v dd >/dev/null || { echo 'there is no tar and dd inside' >&2; exit 1; }
cd "$1" || exit 1
exec 3<&0
{ tar -cf - . </dev/null; echo "tar ended with $?" >&2; } | while read -r _ <&3; do dd bs=65536 count=64; done`;
const PIECES_AT_ONCE = 2;

const UNPACK = `command -v tar >/dev/null || { echo 'there is no tar inside' >&2; exit 1; }
to="$1"; if test -d "$to"; then to="$to/$2"; fi
mkdir -p "$to" && tar -xopf - -C "$to"`;

/** A folder out of an allocation, with all that is in it. @returns where it went, and what came */
export async function folderOut(
  place: AllocationPath,
  to: string,
): Promise<Unpacked & { readonly to: string }> {
  const target = await targetOf(to, basename(place.path));
  // A write resolves when the reader has taken it; once the reader has stopped, writes fail, and the rest is dropped.
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const archive = writable.getWriter();
  const asking = new PieceRequests();
  const unpacked = unpack(readTar(readable), target).finally(() => asking.stop());
  // Handled here, since it may fail while the script below runs.
  const failed = unpacked.then(
    () => null,
    (error: Error) => (error instanceof TarError ? new CliError(EXIT.ownFault, error.message) : error),
  );
  let cut: Error | null = null;
  await runScript(place, {
    text: PACK,
    feed: (session) => asking.run(session),
    onOutput: async (bytes) => {
      await archive.write(bytes).catch(() => undefined);
      asking.received(bytes.length);
    },
    onError: (text) => asking.readErrors(text),
  }).catch((error: Error) => (cut = error));
  await archive.close().catch(() => undefined);
  // The script's own error says best why nothing came.
  const error = cut ?? (await failed) ?? asking.fault(place.path);
  if (error !== null) throw error;
  return { ...(await unpacked), to: target };
}

/** A folder into an allocation. @returns its bytes as an archive */
export async function folderIn(from: string, place: AllocationPath): Promise<number> {
  let bytes = 0;
  await runScript(place, {
    text: UNPACK,
    args: [basename(from)],
    feed: async (session) => {
      const tar = spawn('tar', ['-C', from, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'pipe'] });
      let errorText = '';
      tar.stderr.on('data', (chunk: Buffer) => (errorText += chunk.toString()));
      const ended = once(tar, 'close');
      for await (const chunk of tar.stdout) {
        bytes += (chunk as Buffer).length;
        await session.write(Uint8Array.from(chunk as Buffer));
      }
      const [code] = (await ended) as [number | null];
      session.endInput();
      if (code !== 0) throw new CliError(EXIT.usage, `cannot read all of ${from}: ${errorText.trim()}`);
    },
  });
  return bytes;
}

/** Asks for pieces of the archive, so that no more is on its way than the host keeps. */
class PieceRequests {
  #session: AttachSession | null = null;
  #partialLine = '';
  #tarError = '';
  #tarEnded: number | null = null;
  #asked = 0;
  #written = 0;
  #received = 0;
  #stopped = false;
  readonly #pieces: number[] = [];

  async run(session: AttachSession): Promise<void> {
    this.#session = session;
    await this.#ask();
  }

  /** No more is wanted. */
  stop(): void {
    this.#stopped = true;
    void this.#ask();
  }

  /** Why the archive is not complete; null: it is. */
  fault(path: string): CliError | null {
    if (this.#tarEnded === 0) return null;
    return new CliError(EXIT.ownFault, `not all of ${path} could be copied: ${this.#tarError}`);
  }

  received(bytes: number): void {
    this.#received += bytes;
    void this.#ask();
  }

  /** Reads the error output: the length of each piece, and how packing ended. */
  readErrors(text: string): void {
    const lines = (this.#partialLine + text).split('\n');
    this.#partialLine = lines.pop() ?? '';
    for (const line of lines) {
      const piece = /^(\d+) bytes/.exec(line);
      if (piece !== null) this.#piece(Number(piece[1]));
      const end = /^tar ended with (\d+)$/.exec(line);
      if (end !== null) this.#tarEnded = Number(end[1]);
      else if (line.includes('tar:')) this.#tarError = line;
    }
    void this.#ask();
  }

  #piece(bytes: number): void {
    this.#written += bytes;
    this.#pieces.push(this.#written);
    if (bytes === 0) this.#stopped = true;
  }

  async #ask(): Promise<void> {
    const session = this.#session;
    if (session === null) return;
    if (this.#stopped) return session.endInput();
    const complete = this.#pieces.filter((end) => end <= this.#received).length;
    while (this.#asked - complete < PIECES_AT_ONCE) {
      this.#asked += 1;
      await session.write(new TextEncoder().encode('\n'));
    }
  }
}
