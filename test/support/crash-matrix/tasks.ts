import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AllocationReport } from '../../../src/core/host/report.ts';
import type { StartRequest } from '../../../src/wire/api/host-api.ts';
import { NO_RESTART, someStart, someTask } from '../host-orders.ts';

/** One allocation of the matrix, and what must have come of it whatever the agent went through. */
export interface Work {
  readonly order: StartRequest;
  /**
   * The same under an id and with a port of its own: a host that refused the other did so for good, and where the disk failed
   * it may hold that one's port until it looks for leaks.
   */
  again(): void;
  /** What its command wrote, line by line, each time that it did something. */
  lines(): readonly string[];
  /** @returns what is wrong with its end; null when it is the right one */
  wrong(report: AllocationReport): string | null;
}

type Right = (report: AllocationReport, lines: readonly string[]) => boolean;

/** Makes the works of one run. Ports are given out in turn, and each again only when it was released. */
export class Works {
  readonly #folder: string;
  readonly #artifact: { readonly source: string; readonly sha256: string };
  #port: number;

  /** @param firstPort runs beside each other must not meet */
  constructor(folder: string, firstPort: number) {
    this.#folder = folder;
    this.#port = firstPort;
    const file = join(folder, 'file');
    writeFileSync(file, 'brought\n');
    const sha256 = createHash('sha256').update('brought\n').digest('hex');
    this.#artifact = { source: pathToFileURL(file).href, sha256 };
  }

  /** Reads the file that was brought, and fails twice: it is started again once. */
  fails(): Work {
    const right: Right = (report, lines) =>
      report.state === 'failed' &&
      report.exit?.code === 7 &&
      report.restarts === 1 &&
      same(lines, ['run', 'run']);
    return this.#work('cat "$MOORAGE_ARTIFACT_FILE" >/dev/null || exit 9; exit 7', right, {
      artifacts: { file: { ...this.#artifact, unpack: false } },
      restart: { attempts: 1, windowMs: 600_000, delayMs: 0, on: 'failure' },
    });
  }

  /** Ends when `go` is there. */
  endsAt(go: string): Work {
    const right: Right = (report, lines) =>
      report.state === 'failed' && report.exit?.code === 5 && same(lines, ['run']);
    return this.#work(`while [ ! -e '${go}' ]; do sleep 0.02; done; exit 5`, right);
  }

  /** Runs until it is told to end, and counts the signals that it gets: in no child, which would lose some. */
  stays(): Work {
    const right: Right = (report, lines) =>
      report.state === 'killed' &&
      report.exit?.signal === 'SIGTERM' &&
      lines.filter((line) => line === 'run').length === 1;
    return this.#work(
      `trap 'echo signal >> "$WITNESS"' USR1; echo ready >> "$WITNESS"; while :; do read line; done`,
      right,
      { stdin: true },
    );
  }

  /** Does not listen to a signal. */
  isDeaf(): Work {
    const right: Right = (report, lines) =>
      report.state === 'killed' && report.exit?.signal === 'SIGKILL' && same(lines, ['run', 'ready']);
    return this.#work(
      `trap '' TERM; echo ready >> "$WITNESS"; setsid sleep 1000 & while :; do read line; done`,
      right,
      { stdin: true, graceMs: 20 },
    );
  }

  /** Its shim is killed from outside. */
  losesItsShim(): Work {
    const right: Right = (report, lines) =>
      report.state === 'lost' && report.exit?.lost === 'shim-died' && same(lines, ['run']);
    return this.#work('exec sleep 1000', right);
  }

  /** Stopped before or after it began. */
  isStoppedEarly(): Work {
    const right: Right = (report, lines) =>
      report.state === 'killed' &&
      lines.length <= 1 &&
      (lines.length === 0 || report.exit?.signal === 'SIGTERM');
    return this.#work('exec sleep 1000', right);
  }

  #work(
    script: string,
    right: Right,
    more: {
      readonly artifacts?: Readonly<Record<string, { source: string; sha256: string; unpack: boolean }>>;
      readonly restart?: StartRequest['launch']['restart'];
      readonly stdin?: true;
      readonly graceMs?: number;
    } = {},
  ): Work {
    const witness = join(this.#folder, `witness-${String(this.#port)}`);
    const make = (): StartRequest =>
      someStart({
        allocation: {
          ports: { http: this.#port++ },
          resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: { addresses: 1 } },
        },
        restart: more.restart ?? NO_RESTART,
        tasks: [
          someTask({
            command: ['sh', '-c', `echo run >> "$WITNESS"; ${script}`],
            env: { WITNESS: witness },
            stop: { signal: 'SIGTERM', graceMs: more.graceMs ?? 5_000 },
            ...(more.artifacts === undefined ? {} : { artifacts: more.artifacts }),
            ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
          }),
        ],
      });
    let order = make();
    const again = (): void => {
      order = make();
    };
    const lines = (): readonly string[] => linesOf(witness);
    const wrong = (report: AllocationReport): string | null => {
      const { id, state, reason, exit, restarts, released } = report;
      const found = lines();
      return released && right(report, found)
        ? null
        : JSON.stringify({ script, id, state, reason, exit, restarts, released, lines: found });
    };
    return {
      get order() {
        return order;
      },
      ...{ again, lines, wrong },
    };
  }
}

export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1);
  } catch {
    return [];
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.join('\n') === b.join('\n');
}
