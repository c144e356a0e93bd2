import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { arch, platform, release } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { errorText } from '../../src/core/errors/errors.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { runningCell } from '../../src/connect/cell-address.ts';
import type { Context } from '../command/context.ts';
import { readContexts } from '../../src/connect/contexts.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { fileFault } from '../../src/adapters/disk/file-fault.ts';
import { VERSION } from '../command/version.ts';
import type { ArchiveFile } from './tar-writer.ts';
import { tarOf } from './tar-writer.ts';

/** Of each log the end. */
const LOG_TAIL_BYTES = 256 * 1024;
const LOGS_MAX = 200;
const EVENTS_MAX = 10_000;

/**
 * Writes what a report of a fault needs into one archive: versions, how the cell stands, events, metrics, the ends of logs. No
 * secret is in it: no token, no key, no environment of a job. What cannot be had is told in it, with why.
 *
 * @param logs folders of logs; with none, those of the development cell of this folder
 */
export async function debug(
  context: Context,
  file: string | undefined,
  logs: readonly string[],
): Promise<number> {
  const { terminal } = context;
  const nowMs = terminal.nowMs();
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const root = `moorage-debug-${stamp}`;
  const target = file ?? `${root}.tar.gz`;
  const files = [...(await ofCell(context)), ownFile(context), ...logFiles(context, logs)];
  const whole = files.map(({ path, text }) => ({ path: `${root}/${path}`, text: withoutSecrets(text) }));
  try {
    await writeFile(target, gzipSync(tarOf(whole, nowMs)), { mode: 0o600 });
    await chmod(target, 0o600);
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `cannot write ${target}: ${fileFault(error)}`,
      'moorage operator debug FILE',
      error,
    );
  }
  terminal.out(`${target}\n`);
  terminal.err(`${String(files.length)} files; look into it before you send it: tar -tzf ${target}\n`);
  return EXIT.ok;
}

type Question = readonly [path: string, ask: (api: MonitorClient) => Promise<unknown>];

const QUESTIONS: readonly Question[] = [
  ['version.json', (api) => api.version()],
  ['cell.json', (api) => api.cell()],
  ['hosts.json', (api) => api.hosts()],
  ['jobs.json', (api) => api.jobs()],
  ['schedulers.json', (api) => api.schedulers()],
  ['quotas.json', (api) => api.quotas()],
  ['pauses.json', (api) => api.pauses()],
  ['events.ndjson', eventsOf],
  ['metrics.txt', (api) => api.metrics()],
];

async function ofCell(context: Context): Promise<readonly ArchiveFile[]> {
  const api = await context.api();
  return Promise.all(
    QUESTIONS.map(async ([path, ask]) => {
      try {
        const answer = await ask(api);
        return { path, text: typeof answer === 'string' ? answer : `${JSON.stringify(answer, null, 2)}\n` };
      } catch (error) {
        return {
          path: `${path}.failed`,
          text: `${errorText(error)}\n`,
        };
      }
    }),
  );
}

/** The newest of those that the monitor holds. */
async function eventsOf(api: MonitorClient): Promise<string> {
  const lines: string[] = [];
  for await (const event of api.events('0', { follow: false })) {
    lines.push(`${JSON.stringify(event)}\n`);
    if (lines.length > 2 * EVENTS_MAX) lines.splice(0, EVENTS_MAX);
  }
  return lines.slice(-EVENTS_MAX).join('');
}

/** This program, its machine, and how it finds the cell; of contexts no token. */
function ownFile({ terminal, namespace }: Context): ArchiveFile {
  const env = Object.entries(terminal.env).filter(([name]) => name.startsWith('MOORAGE_'));
  const contexts = (() => {
    try {
      const { current, contexts: saved } = readContexts(terminal.env);
      const shown = Object.entries(saved).map(([name, { addresses, token }]) => ({
        ...{ name, addresses, hasToken: token !== undefined },
      }));
      return { current, saved: shown };
    } catch (error) {
      return errorText(error);
    }
  })();
  const machine = { platform: platform(), release: release(), arch: arch(), node: process.version };
  const about = { moorage: VERSION, machine, namespace, env: Object.fromEntries(env), contexts };
  return { path: 'client.json', text: `${JSON.stringify(about, null, 2)}\n` };
}

function logFiles({ terminal }: Context, named: readonly string[]): readonly ArchiveFile[] {
  const dev = named.length > 0 ? null : runningCell(terminal.cwd);
  // Its credentials lie in its folder.
  const home = /^.*[/\\]cells[/\\][^/\\]+/.exec(dev?.credentials ?? '')?.[0];
  const folders = home === undefined ? named : [join(home, 'logs')];
  return folders.flatMap((folder, at) => {
    try {
      const names = readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile());
      return names.slice(0, LOGS_MAX).map(({ name }) => ({
        path: `logs/${folders.length > 1 ? `${String(at)}-` : ''}${name.slice(0, 60)}`,
        text: tailOf(join(folder, name)),
      }));
    } catch (error) {
      return [{ path: `logs/${String(at)}.failed`, text: `${folder}: ${fileFault(error)}\n` }];
    }
  });
}

function tailOf(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const bytes = Buffer.alloc(Math.min(size, LOG_TAIL_BYTES));
    readSync(handle, bytes, 0, bytes.length, Math.max(0, size - bytes.length));
    return bytes.toString('utf8');
  } finally {
    closeSync(handle);
  }
}

/** What looks like a key or a token, wherever it stands. */
const SECRETS: readonly RegExp[] = [
  /k4\.(?:secret|local)\.[\w-]+/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\b[Bb]earer [\w.~+/=-]+/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g,
  /\bmoorage-ticket-\d+(?:\.[\w-]*)+/g,
  /\bmoorage\.[0-9a-z]{20,}\.[0-9a-f]{16,}/g,
  /#token=[^\s"]+/g,
  // Bounded, and tried once for each word: a log may be one long line.
  /((?<!\w)\w{0,64}(?:TOKEN|PASSWORD|SECRET)\w{0,64}"?\s{0,3}[:=]\s{0,3}"?)(?!null|true|false)[^\s",}]+/gi,
];

function withoutSecrets(text: string): string {
  return SECRETS.reduce(
    (all, pattern) =>
      all.replaceAll(pattern, (_, head?: unknown) => `${typeof head === 'string' ? head : ''}[removed]`),
    text,
  );
}
