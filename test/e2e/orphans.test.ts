import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { CLI, ONE_OF_EACH, startCli, startDevCell, testFolder } from '../support/cli.ts';

/** Accepts connections and never answers. */
async function silentStore(): Promise<{
  readonly url: string;
  readonly asked: Promise<void>;
  [Symbol.dispose](): void;
}> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
  });
  const asked = once(server, 'connection').then(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    asked,
    [Symbol.dispose]: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

/** Processes on whose command line the text stands. */
function processesOf(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function gone(...texts: readonly string[]): Promise<void> {
  while (texts.some((text) => processesOf(text).length > 0)) await pause(50);
}

it('a role ends when it is told to, though its store never answers', async () => {
  using folder = testFolder();
  using store = await silentStore();
  const role = startCli(
    ['monitor', '--cell', 'c', '--etcd', store.url, '--id', 'x', '--listen', '127.0.0.1:0'],
    { cwd: folder.path },
  );
  await store.asked;
  role.kill('SIGTERM');
  expect(await role.end).toMatchObject({ code: 0, signal: null });
});

/** Starts what it is told, with a pipe to it, and does nothing more. */
const PARENT = `
const child = require('node:child_process').spawn(process.execPath, process.argv.slice(1), {
  stdio: ['pipe', 'inherit', 'inherit'],
  env: { ...process.env, NO_COLOR: '1', MOORAGE_STOP_WITH_PARENT: '1' },
});
child.on('exit', () => process.exit());
`;

/** All that it started ends with it, also when a test fails. */
function underParent(cwd: string, args: readonly string[]) {
  const parent = spawn(process.execPath, ['-e', PARENT, CLI, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return Object.assign(parent, { [Symbol.dispose]: () => void parent.kill('SIGKILL') });
}

it('a role that is still starting ends when its parent is killed', async () => {
  using folder = testFolder();
  using store = await silentStore();
  const args = ['monitor', '--cell', 'c', '--etcd', store.url, '--id', 'x', '--listen', '127.0.0.1:0'];
  using parent = underParent(folder.path, args);
  await store.asked;
  parent.kill('SIGKILL');
  await gone(store.url);
});

it('a development cell ends whole, its etcd too, when its parent is killed', async () => {
  using folder = testFolder();
  using parent = underParent(folder.path, ['dev', '--no-demo', '--hosts', '1', '--monitors', '1']);
  let said = '';
  await new Promise<void>((resolve) =>
    parent.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Ctrl-C stops it')) resolve();
    }),
  );
  const etcd = /^etcd: +(https?:\S+)/m.exec(said)?.[1] ?? 'no etcd';
  expect(processesOf(etcd).length).toBeGreaterThanOrEqual(4);
  parent.kill('SIGKILL');
  await gone(folder.path, etcd);
});

it('nothing of a development cell is left when it is killed itself', async () => {
  using folder = testFolder();
  const cell = await startDevCell(folder.path, ONE_OF_EACH);
  const etcd = cell.file.etcd[0] ?? 'no etcd';
  expect(processesOf(etcd).length).toBeGreaterThanOrEqual(4);
  process.kill(cell.file.pid, 'SIGKILL');
  await gone(folder.path, etcd);
});
