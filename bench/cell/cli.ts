/**
 * What the command line costs before and after its work: whole processes, from their start to their end, of `moorage --help`,
 * `moorage ps` and `moorage run -- true` on an idle development cell, and of `node -e 0` beside them, in turns.
 * `npm run bench -- cli --rounds 20`
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devCell } from '../../cli/dev/dev-cell.ts';
import { USUAL_CELL } from '../../cli/dev/usual-cell.ts';
import { Steps } from '../../cli/local-cell/steps.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';

const { rounds } = flagsOf({ rounds: 20 });

/** Of ended children of this process, user and system, from the kernel's hundredths of a second. */
function childrenCpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

class Cost {
  readonly #name: string;
  readonly #args: readonly string[];
  readonly #wallMs: number[] = [];
  #cpuMs = 0;

  constructor(name: string, args: readonly string[]) {
    this.#name = name;
    this.#args = args;
  }

  get medianMs(): number {
    return percentile(this.#wallMs, 0.5);
  }

  measure(env: NodeJS.ProcessEnv): void {
    const startMs = performance.now();
    const beforeMs = childrenCpuMs();
    // No input is given, as at a terminal: what is piped to a run would be sent to it.
    const { status, stderr } = spawnSync(process.execPath, this.#args, {
      ...{ env, encoding: 'utf8' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (status !== 0) throw new Error(`${this.#name} ended with ${String(status)}: ${stderr}`);
    this.#wallMs.push(performance.now() - startMs);
    this.#cpuMs += childrenCpuMs() - beforeMs;
  }

  line(reference: Cost): string {
    const { length } = this.#wallMs;
    return (
      `cli "${this.#name}" p50=${this.medianMs.toFixed(0)}ms p90=${percentile(this.#wallMs, 0.9).toFixed(0)}ms ` +
      `cpu=${(this.#cpuMs / length).toFixed(0)}ms ratio=${(this.medianMs / reference.medianMs).toFixed(2)} rounds=${String(length)}\n`
    );
  }
}

interface Surrounding {
  readonly env: NodeJS.ProcessEnv;
  readonly reference: Cost;
  readonly costs: readonly Cost[];
}

/** Where `NODE_EXTRA_CA_CERTS` is set, Node reads that file at every start: the reference pays for it too. Both ways are measured then. */
function surroundingsOf(env: NodeJS.ProcessEnv): readonly Surrounding[] {
  const { NODE_EXTRA_CA_CERTS: authorities, ...without } = env;
  const here = surrounding(env, '');
  return authorities === undefined ? [here] : [here, surrounding(without, ' without NODE_EXTRA_CA_CERTS')];
}

function surrounding(env: NodeJS.ProcessEnv, suffix: string): Surrounding {
  const reference = new Cost(`node -e 0${suffix}`, ['-e', '0']);
  const verbs = [['--help'], ['ps'], ['run', '--', 'true']].map(
    (args) => new Cost(`moorage ${args.join(' ')}${suffix}`, [builtFile('cli/main.cjs'), ...args]),
  );
  return { env, reference, costs: [reference, ...verbs] };
}

async function measure(): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const steps = new Steps((text) => void process.stderr.write(text));
  const { cell, start } = devCell(
    { base, name: 'bench', fresh: true, ...USUAL_CELL, steps, onEvent: (line) => steps.line(line) },
    new AbortController().signal,
  );
  try {
    await start();
    const env = {
      ...{ ...process.env, NO_COLOR: '1', MOORAGE_ADDR: cell.monitors.join(',') },
      ...(cell.credentials === undefined ? {} : { MOORAGE_CREDENTIALS: cell.credentials.folder }),
    };
    const surroundings = surroundingsOf(env);
    for (let round = 0; round < rounds; round++)
      for (const { costs, env: around } of surroundings) for (const cost of costs) cost.measure(around);
    for (const { reference, costs } of surroundings)
      for (const cost of costs) process.stdout.write(cost.line(reference));
  } finally {
    await cell.stop({ erase: true });
    rmSync(base, { recursive: true, force: true });
  }
}

await measure();
