import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CliResult, DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { AUDIENCE, OpenIdProviderServer } from '../support/openid-provider.ts';

let folder: ReturnType<typeof testFolder>;
/** Where people are who have no development cell in their folder. */
let elsewhere: ReturnType<typeof testFolder>;
let cell: DevCellProcess;

beforeAll(async () => {
  folder = testFolder();
  elsewhere = testFolder();
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--monitors', '2']);
});
afterAll(async () => {
  await cell.stop();
  folder[Symbol.dispose]();
  elsewhere[Symbol.dispose]();
});

const asOperator = (...args: string[]): Promise<CliResult> => runCli(args, { cwd: folder.path });
const config = (): string => join(elsewhere.path, 'config', 'contexts.json');

function asPerson(args: readonly string[], input?: string): Promise<CliResult> {
  return runCli(args, {
    cwd: elsewhere.path,
    env: { MOORAGE_CONFIG: config() },
    ...(input === undefined ? {} : { input }),
  });
}

/** @returns the context's name */
async function login(context: string, token: string): Promise<CliResult> {
  const ca = join(folder.path, '.moorage', 'cells', cell.file.cell, 'pki', 'ca.pem');
  const address = cell.file.monitors.join(',');
  return await asPerson(['login', context, '--address', address, '--ca', ca], token);
}

it('S4.13 a person logs in with a token, works in its namespace, sees no other, and is out when it is revoked', async () => {
  const made = await asOperator('token', 'create', 'bob', '--scope', 'submit', '--namespaces', 'team-a');
  expect(made.code, made.stderr).toBe(0);
  const token = made.stdout.trim();
  expect(made.stderr).toContain('scope submit, namespace team-a');
  const listed = await asOperator('token', 'list', '-o', 'json');
  expect(listed.stdout).not.toContain(token.split('.')[2]);
  const { tokens } = JSON.parse(listed.stdout) as {
    tokens: readonly { readonly id: string; readonly name: string; readonly createdBy: string }[];
  };
  // The link to the page holds one too.
  const { id, createdBy } = tokens.find(({ name }) => name === 'bob')!;
  expect(createdBy).toMatch(/^operator\//);

  const entered = await login('work', token);
  expect(entered.code, entered.stderr).toBe(0);
  expect(entered.stderr).toContain(`token/${id}`);
  expect(statSync(config()).mode & 0o777).toBe(0o600);
  expect((await asPerson(['context'])).stdout).toMatch(new RegExp(`\\*\\s+work\\s+team-a\\s+token ${id}`));

  const run = await asPerson(['run', '--', 'echo', 'by a person']);
  expect([run.code, run.stdout], run.stderr).toEqual([0, 'by a person\n']);
  const others = await asOperator('run', '--detach', '--', 'sleep', '1000');
  expect(others.code, others.stderr).toBe(0);
  const [theirs = ''] = others.stdout.trim().split('\n');
  expect((await asOperator('ps', '-A')).stdout).toContain(theirs);
  expect((await asPerson(['ps', '-A'])).stdout).not.toContain(theirs);
  const status = await asPerson(['status', `default/${theirs}`]);
  const absent = await asPerson(['status', 'default/no-such-thing']);
  expect([status.code, status.stderr.replaceAll(theirs, 'no-such-thing')]).toEqual([
    absent.code,
    absent.stderr,
  ]);
  expect((await asPerson(['run', '-n', 'team-b', '--', 'true'])).stderr).toContain(
    'this token is not of namespace team-b',
  );
  const drain = await asPerson(['host', 'drain', 'host-1']);
  expect([drain.code, drain.stderr]).toEqual([4, expect.stringContaining('this identity may not do that')]);

  const audit = await asOperator('audit', '--by', `token/${id}`);
  expect(audit.stdout).toMatch(/\(bob\)\s+run\s+team-a\/run\s+-\s+echo/);
  expect((await asOperator('audit', '--act', 'create-token', '-o', 'json')).stdout).toContain(
    '"target": "bob"',
  );
  expect((await asPerson(['audit'])).code).toBe(4);

  expect((await asOperator('token', 'revoke', id)).code).toBe(0);
  // The other monitor learns of it when it asks the store again.
  for (;;) {
    const after = await asPerson(['ps']);
    if (after.code === 0) continue;
    expect(after.code).toBe(4);
    expect(after.stderr).toContain('this token was never made, has ended, or was revoked');
    break;
  }
  expect((await asPerson(['context', 'rm', 'work'])).code).toBe(0);
  expect(readFileSync(config(), 'utf8')).not.toContain(token);
});

it('S4.13 an admin token makes tokens, of a scope for the cell none for single namespaces', async () => {
  const admin = (await asOperator('token', 'create', 'ann', '--scope', 'admin')).stdout;
  expect((await login('admin', admin)).code).toBe(0);
  const made = await asPerson(['token', 'create', 'ci', '--scope', 'read', '--ttl', '30d']);
  expect(made.code, made.stderr).toBe(0);
  expect((await asPerson(['token', 'list'])).stdout).toContain('ci');
  const wrong = await asPerson(['token', 'create', 'x', '--scope', 'operate', '--namespaces', 'a']);
  expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining('is of all namespaces')]);
  expect((await login('ci', made.stdout)).code).toBe(0);
  expect((await asPerson(['token', 'list'])).code).toBe(4);
  expect((await asPerson(['--context', 'admin', 'token', 'list'])).code).toBe(0);
});

it("S4.13 a person logs in with an OpenID provider's token, and is out when the provider is", async () => {
  const provider = await OpenIdProviderServer.start();
  try {
    const words = ['--issuer', provider.issuer, '--audience', AUDIENCE, '--namespaces-claim', 'groups'];
    const set = await asOperator('openid', 'set', 'corp', ...words, '--scope-claim', 'scope');
    expect([set.code, set.stdout], set.stderr).toEqual([0, 'corp\n']);
    const claims = { sub: 'dora', groups: ['team-a'], scope: 'openid submit' };
    const entered = await login('corp', await provider.sign(claims));
    expect(entered.code, entered.stderr).toBe(0);
    expect(entered.stderr).toContain(`oidc:${provider.issuer}#dora`);
    expect((await asPerson(['context'])).stdout).toMatch(/\* +corp +team-a +token of an OpenID provider/);
    const run = await asPerson(['run', '--', 'echo', 'by somebody else’s token']);
    expect([run.code, run.stdout], run.stderr).toEqual([0, 'by somebody else’s token\n']);
    expect((await asPerson(['openid', 'list'])).code).toBe(4);
    expect((await asOperator('openid', 'list')).stdout).toContain(provider.issuer);
    expect((await asOperator('audit', '--by', 'oidc:')).stdout).toContain('team-a/run');
    const late = await login('late', await provider.sign(claims, { forS: -60 }));
    expect([late.code, late.stderr]).toEqual([4, expect.stringContaining('this token has ended')]);
    expect((await asOperator('openid', 'delete', 'corp')).code).toBe(0);
    for (;;) {
      const after = await asPerson(['ps']);
      if (after.code === 0) continue;
      expect([after.code, after.stderr]).toEqual([4, expect.stringContaining('no provider of this cell')]);
      break;
    }
  } finally {
    await provider.close();
  }
});

it('what is no token, and an address without an authority, is said at once', async () => {
  expect((await login('x', 'not a token')).stderr).toContain('what came on standard input is no token');
  const bare = await asPerson(['login', '--address', cell.file.monitors[0] ?? ''], 'x');
  expect([bare.code, bare.stderr]).toEqual([64, expect.stringContaining("which authority is the cell's")]);
});
