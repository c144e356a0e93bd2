import { createHash } from 'node:crypto';

/**
 * Reads lines and repeats them, counts its signals, and prints in the end what it got. In Python: a shell loses signals that
 * come while it forks, and Node has no real-time ones. They are waited for, not handled: handlers run once for several.
 */
export const ECHO = `
import hashlib, os, signal, sys, threading
wanted = {signal.SIGRTMIN + 3}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
got = []
def count():
    while True: got.append(signal.sigwait(wanted))
threading.Thread(target=count, daemon=True).start()
open(os.environ['WITNESS'], 'a').write('run\\n')
digest = hashlib.sha256()
lines = 0
out = sys.stdout.buffer
out.write(b'ready\\n'); out.flush()
for line in sys.stdin.buffer:
    digest.update(line)
    lines += 1
    out.write(b'%d ' % lines + line)
    out.flush()
while signal.sigtimedwait(wanted, 0.3): got.append(1)
print('end', lines, digest.hexdigest(), len(got), flush=True)
sys.stdout.flush()
os._exit(7)
`;

export const SIGNAL = 'SIGRTMIN+3';
export const EXIT_CODE = 7;

/** What the task prints at its end: what it read, and how often it was signalled. */
interface Summary {
  readonly lines: number;
  readonly digest: string;
  readonly signals: number;
}

/** Every line that was typed, until it has come back: in order, once, with each of its bytes. */
export class EchoCheck {
  readonly #typed = createHash('sha256');
  #lines = 0;
  #echoed = 0;
  #bytes = 0;
  #awaited: string[] = [];
  #rest = '';
  #summary: Summary | null = null;
  #wrong: string | null = null;
  #ready: () => void = () => undefined;
  /** Before it blocks the signal, one would end it. */
  readonly ready = new Promise<void>((resolve) => (this.#ready = resolve));

  /** @returns the line to be typed */
  next(filling: string): Uint8Array {
    this.#lines += 1;
    const line = `${String(this.#lines)} ${filling}\n`;
    this.#typed.update(line);
    this.#awaited.push(`${String(this.#lines)} ${line.slice(0, -1)}`);
    return Buffer.from(line);
  }

  take(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    const lines = `${this.#rest}${Buffer.from(bytes).toString('latin1')}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#see(line);
    this.#ready();
  }

  get typed(): number {
    return this.#lines;
  }

  get echoed(): number {
    return this.#echoed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get signals(): number {
    return this.#summary?.signals ?? -1;
  }

  /** Did the task read just what was typed? */
  get inputMatches(): boolean {
    return this.#summary?.lines === this.#lines && this.#summary.digest === this.#typed.copy().digest('hex');
  }

  /** Did it all come back? */
  get outputMatches(): boolean {
    return (
      this.#wrong === null && this.#echoed === this.#lines && this.#summary !== null && this.#rest === ''
    );
  }

  /** The first line that came otherwise than it must. */
  get wrong(): string | null {
    return this.#wrong;
  }

  #see(line: string): void {
    if (this.#bytes > 0 && line === 'ready' && this.#echoed === 0) return;
    const end = /^end (\d+) ([0-9a-f]{64}) (\d+)$/.exec(line);
    if (end !== null) {
      this.#summary = { lines: Number(end[1]), digest: end[2] ?? '', signals: Number(end[3]) };
      return;
    }
    this.#echoed += 1;
    const awaited = this.#awaited.shift() ?? 'nothing';
    if (line !== awaited)
      this.#wrong ??= `line ${String(this.#echoed)}: '${line}' came instead of '${awaited}'`;
  }
}
