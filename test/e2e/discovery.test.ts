import { readFileSync } from 'node:fs';
import { request, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CliProcess } from '../support/cli.ts';
import { startCli, testFolder } from '../support/cli.ts';
import { TestAuthority } from '../support/credentials.ts';

const folder = testFolder();
const agents: CliProcess[] = [];
/** What machines have said of themselves, a line each. */
const lines: string[] = [];
let isDown = false;
let authority: TestAuthority;
let url: string;
let close: () => Promise<void>;

/** Lists tokens, and takes them: a POST of one adds it. */
beforeAll(async () => {
  authority = await TestAuthority.of('discovery');
  const text = readFileSync(join(await authority.issue('monitor', 'list'), 'identity.pem'), 'utf8');
  const server = createServer({ key: text, cert: text }, (asked, answer) => {
    if (isDown) return void answer.writeHead(503).end();
    if (asked.method !== 'POST') return void answer.end(`# machines\n${lines.join('\n')}\n`);
    asked.setEncoding('utf8').on('data', (token: string) => lines.push(token));
    asked.on('end', () => answer.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${String((server.address() as AddressInfo).port)}/machines`;
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterAll(async () => {
  for (const { kill, end } of agents) {
    kill('SIGTERM');
    await end;
  }
  await close();
  authority[Symbol.dispose]();
  folder[Symbol.dispose]();
});

function bootstrap(minHosts: number, wait: string): CliProcess {
  const flags = ['--discovery', url, '--min-hosts', String(minHosts), '--wait', wait, '--dry-run'];
  return startCli(['bootstrap', `cell-${String(minHosts)}`, '--cell', 'prod', ...flags], {
    cwd: folder.path,
    env: { NODE_EXTRA_CA_CERTS: join(authority.path, 'ca.pem') },
  });
}

/** Starts a machine that waits for its cell, and lists it. */
async function announce(id: string): Promise<void> {
  // The whole of 127 is this machine's own.
  const address = `127.0.71.${String(agents.length + 1)}:7403`;
  const agent = startCli(['agent', '--bare', '--id', id, '--listen', address, '--data', id], {
    cwd: folder.path,
  });
  agents.push(agent);
  await agent.says(/^moorage-bare\.\S+$/m);
  const token = /^moorage-bare\.\S+$/m.exec(agent.output())?.[0] ?? '';
  const ca = readFileSync(join(authority.path, 'ca.pem'));
  await new Promise<void>((resolve, reject) => {
    const sent = request(url, { method: 'POST', ca, agent: false }, (answer) => {
      answer.resume().on('end', resolve);
    });
    sent.once('error', reject);
    sent.end(token);
  });
}

it('S4.7 S4.31 a bootstrap waits until enough machines have announced themselves, one after the other', async () => {
  const waiting = bootstrap(3, '5m');
  await waiting.says('0 of 3 hosts are listed');
  await announce('a');
  await waiting.says('1 of 3 hosts are listed');
  // A list that is away for a moment ends nothing.
  isDown = true;
  await waiting.says('it answers 503');
  isDown = false;
  await announce('b');
  await waiting.says('2 of 3 hosts are listed');
  await announce('c');
  const { code, stdout, stderr } = await waiting.end;
  expect([code, stdout], stderr).toEqual([0, expect.stringContaining('etcd-c, unless it runs')]);

  const late = await bootstrap(4, '1s').end;
  expect([late.code, late.stderr]).toEqual([
    4,
    expect.stringContaining('3 of 4 hosts are listed after 1s: a, b, c'),
  ]);
  lines.push('what is no token');
  const wrong = await bootstrap(4, '5m').end;
  expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining('"what is no token" is no token')]);
});
