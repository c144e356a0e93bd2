import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { CliResult, DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';

/** Unlike anything else on this machine. */
const VALUE = `horse-${randomUUID()}`;
const HASH = createHash('sha256').update(VALUE).digest('hex');
/** What a task sees of its secret, without saying it; then it stays. */
const LOOK = [
  'cd "$MOORAGE_SECRETS"',
  'sha256sum < db-password',
  'stat -c "%a %u of $(id -u)" db-password',
  'stat -f -c %T .',
  'echo x 2>/dev/null > db-password || echo "cannot write"',
].join('; ');

describeNeeding(
  firstMissing(root(), program('cc'), program('bwrap'), program('mount')),
  'secrets of jobs in a cell of real processes',
  () => {
    let folder: ReturnType<typeof testFolder>;
    let cell: DevCellProcess;
    beforeAll(async () => {
      folder = testFolder();
      cell = await startDevCell(folder.path);
    });
    afterAll(async () => {
      await cell.stop();
      folder[Symbol.dispose]();
    });
    const moorage = (args: readonly string[], input?: string): Promise<CliResult> =>
      runCli(args, { cwd: folder.path, ...(input === undefined ? {} : { input }) });
    const submit = async (name: string, fields: object): Promise<void> => {
      const file = join(folder.path, `${name}.json`);
      writeFileSync(file, JSON.stringify({ name, type: 'batch', ...fields }));
      const done = await moorage(['run', '--detach', file]);
      expect(done.code, done.stderr).toBe(0);
    };
    const shell = (script: string, more: object = {}): object => ({
      ...{ command: ['/bin/sh', '-c', script], secrets: ['db-password'] },
      ...more,
    });
    const output = async (job: string): Promise<string> => (await moorage(['logs', job])).stdout;
    const cellFolder = (): string => join(folder.path, '.moorage', 'cells', cell.file.cell);
    /** Every file of the cell that holds the secret: records, logs, orders to shims. */
    const holders = (): string[] =>
      readdirSync(cellFolder(), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .filter((path) => readIfThere(path).includes(VALUE));
    const mounts = (): string[] =>
      readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .filter(
          (line) => line.startsWith('moorage-secrets ') && line.includes(folder.path.replace(' ', '\\040')),
        );

    it('a task waits for its secret, reads it, nobody else does, and nothing is left of it', async () => {
      await submit('reader', shell(`${LOOK}; sleep 1000`));
      await submit('boxed', shell(`${LOOK}; sleep 1000`, { driver: 'sandbox' }));
      await submit('rooted', shell(`${LOOK}; sleep 1000`, { driver: 'sandbox', user: 'root' }));
      for (;;) {
        const { stdout } = await moorage(['why', 'reader']);
        if (!stdout.includes('has no secret')) continue;
        expect(stdout).toContain(
          'namespace default has no secret db-password: moorage secret set db-password',
        );
        break;
      }
      const set = await moorage(['secret', 'set', 'db-password'], VALUE);
      expect([set.code, set.stdout], set.stderr).toEqual([0, 'db-password\n']);
      expect((await moorage(['secret', 'list'])).stdout).toMatch(/db-password\s+operator\//);
      for (const job of ['reader', 'boxed', 'rooted']) {
        const running = await moorage(['wait', job, '--for', 'running']);
        expect(running.code, running.stderr).toBe(0);
        for (;;) {
          const said = await output(job);
          if (!said.includes('cannot write')) continue;
          const [hash, file, kind] = said.split('\n');
          expect(hash).toBe(`${HASH}  -`);
          expect(file).toMatch(/^400 (\d+) of \1$/);
          expect(kind).toBe('tmpfs');
          break;
        }
      }
      // While it runs the value is in its own memory file system, and nowhere else.
      const held = holders();
      expect(held.length).toBe(3);
      for (const path of held) expect(path).toMatch(/\/secrets\/[^/]+\/db-password$/);
      expect(mounts().length).toBe(3);

      // Another task of the same namespace, and even one that uses a secret of its own, finds no way to it.
      await moorage(['secret', 'set', 'other'], 'unimportant');
      const search = `for path; do cat "$path" 2>&1; done; ls -R "$MOORAGE_SECRETS"`;
      const stranger = { command: ['/bin/sh', '-c', search, 'sh', ...held], secrets: ['other'] };
      await submit('stranger', stranger);
      expect((await moorage(['wait', 'stranger'])).code).toBe(0);
      const found = await output('stranger');
      expect(found).not.toContain(VALUE);
      expect(found.match(/No such file or directory|Permission denied/g)?.length).toBe(3);
      expect(found).toMatch(/:\nother\n$/);

      const shown: string[] = [];
      for (const args of [
        ['status', 'reader', '-o', 'json'],
        ['status', 'reader', '-o', 'yaml'],
        ['ps', '-o', 'json'],
        ['events', '--since', '1h', '-o', 'json'],
        ['audit', '-o', 'json'],
        ['secret', 'list', '-o', 'json'],
        ['check', '-o', 'json'],
      ]) {
        const { code, stdout, stderr } = await moorage(args);
        expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
        shown.push(stdout + stderr);
      }
      expect(shown.join('\n')).toContain('db-password');
      expect(shown.join('\n')).not.toContain(VALUE);
      expect(await everythingInEtcd()).not.toContain(VALUE);

      for (const job of ['reader', 'boxed', 'rooted']) expect((await moorage(['stop', job])).code).toBe(0);
      while (mounts().length > 0) await new Promise((next) => setTimeout(next, 50));
      expect(holders()).toEqual([]);
      expect((await moorage(['secret', 'delete', 'db-password'])).code).toBe(0);
      expect((await moorage(['secret', 'delete', 'db-password'])).stderr).toContain(
        'has no secret db-password',
      );
    });

    async function everythingInEtcd(): Promise<string> {
      const credentials = openCredentials(cell.file.credentials ?? '', null);
      const store = new EtcdCellStore({
        ...{ endpoints: cell.file.etcd, credentials, clock: systemClock, log: silentLog },
      });
      try {
        const { entries } = await store.list('/');
        const text = [...entries.values()].map(({ key, value }) => `${key} ${value}`).join('\n');
        expect(text).toContain('/secrets/default/db-password');
        return text;
      } finally {
        await store.close();
        credentials.close();
      }
    }
  },
);

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It went while the folder was read.
    return '';
  }
}
