import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd, NoEtcdError } from '../../src/adapters/etcd/server/find-etcd.ts';

const ARCH = process.arch === 'x64' ? 'amd64' : process.arch;
const FAKE = (version: string): string => `#!/bin/sh\necho "etcd Version: ${version}"\n`;
/** Where `sh`, `tar`, `cp` and the like are. */
const SYSTEM_PATH = '/usr/bin:/bin';

describe('finding an etcd', () => {
  let folder: string;
  let server: Server | null = null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'moorage-find-'));
  });
  afterEach(async () => {
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
    server = null;
    rmSync(folder, { recursive: true, force: true });
  });

  function script(path: string, text: string): string {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
    chmodSync(join(folder, path), 0o755);
    return join(folder, path);
  }

  /** A release archive as upstream builds them, of a server that only knows its version. */
  function archive(version: string): { bytes: Buffer; sha256: string } {
    const name = `etcd-v${version}-linux-${ARCH}`;
    script(`${name}/etcd`, FAKE(version));
    execFileSync('tar', ['-czf', join(folder, 'release.tar.gz'), '-C', folder, name]);
    const bytes = readFileSync(join(folder, 'release.tar.gz'));
    return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
  }

  async function mirror(bytes: Buffer, asked: string[]): Promise<string> {
    const listening = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end(bytes);
    });
    server = listening;
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    const address = listening.address();
    return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
  }

  it('takes the one that MOORAGE_ETCD names, and no other when that does not run', async () => {
    const named = script('mine/etcd', FAKE('1.2.3'));
    const found = await findEtcd({ env: { MOORAGE_ETCD: named } });
    expect(found).toEqual({ path: named, version: '1.2.3', source: 'environment' });
    const env = { ...process.env, MOORAGE_ETCD: join(folder, 'nothing') };
    await expect(findEtcd({ env })).rejects.toBeInstanceOf(NoEtcdError);
  });

  it('takes the first on the PATH that runs', async () => {
    script('broken/etcd', '#!/bin/sh\nexit 1\n');
    const good = script('good/etcd', FAKE('1.2.4'));
    const PATH = `${join(folder, 'none')}:${join(folder, 'broken')}:${join(folder, 'good')}`;
    const found = await findEtcd({ env: { PATH, MOORAGE_CACHE: folder } });
    expect(found).toEqual({ path: good, version: '1.2.4', source: 'path' });
  });

  it('unpacks the Debian package, with package lists of its own where the system has none', async () => {
    // As on a slim image: a plain download knows no package; with folders of its own it does after an update.
    script(
      'bin/apt-get',
      `#!/bin/sh
echo "$@" >> "${folder}/apt.log"
case "$*" in
  *Dir::State=*update*) touch "${folder}/updated" ;;
  *Dir::State=*download*) [ -e "${folder}/updated" ] && echo deb > etcd-server_1_all.deb ;;
  *) exit 100 ;;
esac
`,
    );
    script('bin/dpkg', `#!/bin/sh\nmkdir -p "$3/usr/bin" && cp "${folder}/packed" "$3/usr/bin/etcd"\n`);
    script('packed', FAKE('3.4.23'));
    const env = { PATH: `${join(folder, 'bin')}:${SYSTEM_PATH}`, MOORAGE_CACHE: join(folder, 'cache') };
    const found = await findEtcd({ env, sources: ['debian'] });
    expect(found).toMatchObject({ version: '3.4.23', source: 'debian' });
    expect(found.path.startsWith(join(folder, 'cache'))).toBe(true);
    const calls = readFileSync(join(folder, 'apt.log'), 'utf8').trim().split('\n');
    expect(calls).toHaveLength(3);
    expect(await findEtcd({ env, sources: ['debian'] })).toEqual(found);
    expect(readFileSync(join(folder, 'apt.log'), 'utf8').trim().split('\n')).toEqual(calls);
  });

  it('downloads the upstream release once, when its SHA-256 is the pinned one', async () => {
    const { bytes, sha256 } = archive('9.9.9');
    const asked: string[] = [];
    const env = {
      PATH: '',
      MOORAGE_CACHE: join(folder, 'cache'),
      MOORAGE_ETCD_MIRROR: await mirror(bytes, asked),
    };
    const release = { version: '9.9.9', sha256: { [ARCH]: sha256 } };
    const found = await findEtcd({ env, release, sources: ['environment', 'path', 'upstream'] });
    expect(found).toMatchObject({ version: '9.9.9', source: 'upstream' });
    expect(asked).toEqual([`/v9.9.9/etcd-v9.9.9-linux-${ARCH}.tar.gz`]);
    expect(await findEtcd({ env, release, sources: ['upstream'] })).toEqual(found);
    expect(asked).toHaveLength(1);
  });

  it('does not touch an archive with another SHA-256, and says what to do', async () => {
    const { bytes } = archive('9.9.9');
    const env = {
      PATH: '',
      MOORAGE_CACHE: join(folder, 'cache'),
      MOORAGE_ETCD_MIRROR: await mirror(bytes, []),
    };
    const release = { version: '9.9.9', sha256: { [ARCH]: '0'.repeat(64) } };
    const finding = findEtcd({ env, release, sources: ['path', 'upstream'] });
    await expect(finding).rejects.toThrow(/^no etcd found: install one .*MOORAGE_ETCD.*SHA-256/);
    await expect(finding).rejects.not.toThrow(/\n/);
    expect(existsSync(join(folder, 'cache', 'v9.9.9'))).toBe(false);
  });
});

describe('an etcd of our own', () => {
  it('starts beside others, keeps its data over a restart, and ignores the settings of another', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-own-'));
    const { path } = await findEtcd({ env: process.env });
    process.env['ETCD_LISTEN_CLIENT_URLS'] = 'http://127.0.0.1:1';
    try {
      const options = { binary: path, dataFolder: join(folder, 'a'), unsafeNoFsync: true };
      const [one, other] = await Promise.all([
        startEtcd(options),
        startEtcd({ ...options, dataFolder: join(folder, 'b') }),
      ]);
      expect(one.clientUrl).not.toBe(other.clientUrl);
      await other.stop();
      await one.stop();
      expect((await one.ended).signal ?? 'exit').toBeTruthy();
      const again = await startEtcd(options);
      await again.stop();
      await again.stop();
    } finally {
      delete process.env['ETCD_LISTEN_CLIENT_URLS'];
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('says why it did not start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-own-'));
    const { path } = await findEtcd({ env: process.env });
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const clientPort = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const starting = startEtcd({ binary: path, dataFolder: folder, clientPort });
    await expect(starting).rejects.toThrow(/address already in use/);
    await new Promise((resolve) => holder.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });
});
