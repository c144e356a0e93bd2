import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { builtFile, PACKAGE_FOLDER } from '../../src/adapters/system/package-files.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { LocalCell } from '../local-cell/local-cell.ts';
import { collide } from './collision.ts';
import type { Steps } from '../local-cell/steps.ts';

const CLI_PATH = builtFile('cli/main.cjs');
const EXAMPLE = join(PACKAGE_FOLDER, 'examples', 'hello.yaml');

/**
 * What a newcomer should see in the first minute: a job, a one-off run, and two schedulers that want the same place. Each
 * command is shown as one would type it, and is run that way.
 * @throws when a part of it does not come out as it must
 */
export async function demonstrate(cell: LocalCell, http: HttpClient, steps: Steps): Promise<void> {
  const tag = randomUUID().slice(0, 4);
  steps.line();
  steps.line('A job: four allocations, placed by one of the two batch schedulers.');
  // On the data of an earlier start its namesake has ended already, and would not run again.
  const name = cell.isNew ? [] : ['--name', `hello-${tag}`];
  await show(cell, steps, ['run', '--logs', ...name, EXAMPLE], 0);
  steps.line();
  steps.line(
    'A one-off run: placed like any job, its output streamed from the host, its exit code returned.',
  );
  await show(
    cell,
    steps,
    ['run', '--', 'sh', '-c', 'echo "hello from $(hostname), on $MOORAGE_HOST"; exit 7'],
    7,
  );
  steps.line();
  steps.line(
    'A conflict: jobs of both batch schedulers want the same host at the same time; each has room for one.',
  );
  const monitors = cell.monitors.map(
    (url) => new MonitorClient(http, { urls: [url], from: 'the demonstration' }),
  );
  for (const line of await collide({ monitors, host: 'host-1', tag })) steps.line(`  ${line}`);
  steps.line();
}

/** Runs one command of ours against the cell and shows it with its output. */
async function show(cell: LocalCell, steps: Steps, args: readonly string[], wanted: number): Promise<void> {
  steps.line(`  $ moorage ${args.map(quoted).join(' ')}`);
  const code = await run(cell, args, (line) => steps.line(`  ${line}`));
  steps.line(`  exit code ${String(code)}`);
  if (code !== wanted)
    throw new Error(`moorage ${args.join(' ')} ended with ${String(code)}, not with ${String(wanted)}`);
}

function quoted(arg: string): string {
  if (/^[\w./:=-]+$/.test(arg)) return arg;
  return `'${arg.replaceAll("'", String.raw`'\''`)}'`;
}

function run(cell: LocalCell, args: readonly string[], onLine: (line: string) => void): Promise<number> {
  const child = spawn(process.execPath, [CLI_PATH, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...{ ...process.env, MOORAGE_ADDR: cell.monitors.join(','), NO_COLOR: '1' },
      ...(cell.credentials === undefined ? {} : { MOORAGE_CREDENTIALS: cell.credentials.folder }),
    },
  });
  for (const stream of [child.stdout, child.stderr]) eachLine(stream, onLine);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === null) reject(new Error(`moorage ${args.join(' ')} was ended by ${String(signal)}`));
      else resolve(code);
    });
  });
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}
