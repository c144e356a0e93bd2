import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKeyFiles, readPinnedKeys, readSigningKey } from '../../../../src/adapters/tickets/key-files.ts';
import type { SigningKey } from '../../../../src/adapters/tickets/tickets.ts';
import { ticketSigner, ticketVerifier } from '../../../../src/adapters/tickets/tickets.ts';
import { someTicket } from '../../../support/tickets.ts';

let folder: string;
let signing: SigningKey;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moorage-keys-'));
  signing = await readSigningKey((await makeKeyFiles(folder)).signingKeyFile);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('key files', () => {
  it('are made once, whole, and for their owner only', async () => {
    const again = await makeKeyFiles(folder);
    expect((await readSigningKey(again.signingKeyFile)).id).toBe(signing.id);
    for (const file of [again.signingKeyFile, again.pinnedKeysFile])
      expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('a missing public file is made again from the secret', async () => {
    const crashed = join(folder, 'crashed');
    const files = await makeKeyFiles(crashed);
    const { id } = await readSigningKey(files.signingKeyFile);
    await rm(files.pinnedKeysFile);
    await makeKeyFiles(crashed);
    expect((await readPinnedKeys(files.pinnedKeysFile)).map((key) => key.id)).toEqual([id]);
  });

  it('a secret that others can read, a file without a key and a broken line are refused', async () => {
    const open = join(folder, 'open');
    await writeFile(open, await readFile(join(folder, 'arbiter.secret')), { mode: 0o600 });
    await chmod(open, 0o640);
    await expect(readSigningKey(open)).rejects.toThrow('chmod 600');
    const empty = join(folder, 'empty');
    await writeFile(empty, '# nothing\n');
    await expect(readPinnedKeys(empty)).rejects.toThrow('no key');
    await writeFile(empty, 'k4.public.AAAA\n');
    await expect(readPinnedKeys(empty)).rejects.toThrow('no key of the form');
  });

  it('I42 during a rotation both keys are good, and afterwards only the new one', async () => {
    const next = join(folder, 'next');
    const files = await makeKeyFiles(next);
    const newSigning = await readSigningKey(files.signingKeyFile);
    const both = join(next, 'both');
    const texts = [join(folder, 'arbiters.public'), files.pinnedKeysFile].map((file) =>
      readFile(file, 'utf8'),
    );
    await writeFile(both, `# old, then new\n${(await Promise.all(texts)).join('')}`);
    const during = ticketVerifier(await readPinnedKeys(both));
    const after = ticketVerifier(await readPinnedKeys(files.pinnedKeysFile));
    const [oldTicket = ''] = await ticketSigner(signing).sign([someTicket()]);
    const [newTicket = ''] = await ticketSigner(newSigning).sign([someTicket()]);
    expect(await during.verify(oldTicket, 'host-a', 3)).toMatchObject({ valid: true });
    expect(await during.verify(newTicket, 'host-a', 3)).toMatchObject({ valid: true });
    expect(await after.verify(oldTicket, 'host-a', 3)).toEqual({ valid: false, reason: 'unknown-key' });
  });
});
