import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { makeKeyFiles, readPinnedKeys, readSigningKey } from '../../../../src/adapters/tickets/key-files.ts';
import type { PinnedKey, SigningKey } from '../../../../src/adapters/tickets/tickets.ts';
import { pasetoSigner, pasetoVerifier } from '../../../../src/adapters/tickets/tickets.ts';
import { someTicket } from '../../../support/tickets.ts';

/** v4.public by the specification, on node:crypto alone: what our tokens are held against. */
function pae(pieces: readonly Buffer[]): Buffer {
  const count = (n: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(n));
    return bytes;
  };
  return Buffer.concat([count(pieces.length), ...pieces.flatMap((piece) => [count(piece.length), piece])]);
}

const HEADER = 'v4.public.';

function signAlone(key: KeyObject, message: string, footer: string, implicit: string): string {
  const pieces = [HEADER, message, footer, implicit].map((text) => Buffer.from(text));
  const signature = sign(null, pae(pieces), key);
  const payload = Buffer.concat([Buffer.from(message), signature]).toString('base64url');
  return `${HEADER}${payload}.${Buffer.from(footer).toString('base64url')}`;
}

function verifyAlone(key: KeyObject, token: string, implicit: string): unknown {
  const [, , payload = '', footer = ''] = token.split('.');
  const bytes = Buffer.from(payload, 'base64url');
  const message = bytes.subarray(0, -64);
  const pieces = [Buffer.from(HEADER), message, Buffer.from(footer, 'base64url'), Buffer.from(implicit)];
  if (!verify(null, pae(pieces), key, bytes.subarray(-64))) return null;
  return JSON.parse(message.toString('utf8'));
}

function publicKeyOf(rawHex: string): KeyObject {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(rawHex, 'hex')]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

function secretKeyOf(seed: Buffer): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

let folder: string;
let signing: SigningKey;
let pinned: readonly PinnedKey[];
let secretAlone: KeyObject;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moorage-keys-'));
  const files = await makeKeyFiles(folder);
  signing = await readSigningKey(files.signingKeyFile);
  pinned = await readPinnedKeys(files.pinnedKeysFile);
  const paserk = (await readFile(files.signingKeyFile, 'utf8')).trim().replace('k4.secret.', '');
  secretAlone = secretKeyOf(Buffer.from(paserk, 'base64url').subarray(0, 32));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const ASSERTION = '["moorage-ticket","host-a",3]';

describe('tickets as PASETO v4.public', () => {
  it('an accepted ticket comes back as it was signed', async () => {
    const token = await pasetoSigner(signing).sign(someTicket());
    expect(await pasetoVerifier(pinned).verify(token, 'host-a', 3)).toEqual({
      valid: true,
      body: someTicket(),
    });
  });

  it('an implementation on node:crypto alone reads our tokens, and we read its', async () => {
    const ours = await pasetoSigner(signing).sign(someTicket());
    expect(verifyAlone(createPublicKey(secretAlone), ours, ASSERTION)).toEqual(someTicket());
    const theirs = signAlone(secretAlone, JSON.stringify(someTicket()), signing.id, ASSERTION);
    expect(theirs).toBe(ours);
    expect(await pasetoVerifier(pinned).verify(theirs, 'host-a', 3)).toMatchObject({ valid: true });
  });

  it('the node:crypto implementation reads the published vector 4-S-1', () => {
    const key = publicKeyOf('1eb9dbbbbc047c03fd70604e0071f0987e16b28b757225c11f00415d0e20b1a2');
    const token =
      'v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9' +
      'bg_XBBzds8lTZShVlwwKSgeKpLT3yukTw6JUz3W4h_ExsQV-P0V54zemZDcAxFaSeef1QlXEFtkqxT1ciiQEDA';
    const claims = { data: 'this is a signed message', exp: '2022-01-01T00:00:00+00:00' };
    expect(verifyAlone(key, token, '')).toEqual(claims);
  });

  it('I37 S4.16 a ticket for one host and incarnation verifies for no other', async () => {
    const token = await pasetoSigner(signing).sign(someTicket());
    const verifier = pasetoVerifier(pinned);
    for (const [host, incarnation] of [
      ['host-b', 3],
      ['host-a', 4],
      ['host-a', 2],
      ['host-', 3],
    ] as const)
      expect(await verifier.verify(token, host, incarnation)).toEqual({
        valid: false,
        reason: 'bad-signature',
      });
  });

  it('I42 a key that is not pinned is unknown, whatever it signed', async () => {
    const stranger = generateKeyPairSync('ed25519').privateKey;
    const body = JSON.stringify(someTicket());
    const named = signAlone(stranger, body, 'ffffffffffffffff', ASSERTION);
    expect(await pasetoVerifier(pinned).verify(named, 'host-a', 3)).toEqual({
      valid: false,
      reason: 'unknown-key',
    });
    const disguised = signAlone(stranger, body, signing.id, ASSERTION);
    expect(await pasetoVerifier(pinned).verify(disguised, 'host-a', 3)).toMatchObject({
      reason: 'bad-signature',
    });
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
    const during = pasetoVerifier(await readPinnedKeys(both));
    const after = pasetoVerifier(await readPinnedKeys(files.pinnedKeysFile));
    const oldToken = await pasetoSigner(signing).sign(someTicket());
    const newToken = await pasetoSigner(newSigning).sign(someTicket());
    expect(await during.verify(oldToken, 'host-a', 3)).toMatchObject({ valid: true });
    expect(await during.verify(newToken, 'host-a', 3)).toMatchObject({ valid: true });
    expect(await after.verify(oldToken, 'host-a', 3)).toEqual({ valid: false, reason: 'unknown-key' });
  });

  it('I38 I44 no other spelling of a token verifies: any altered character is refused', async () => {
    const token = await pasetoSigner(signing).sign(someTicket());
    const verifier = pasetoVerifier(pinned);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.=+/ \n'), async (at, char) => {
        fc.pre(token[at] !== char);
        const altered = token.slice(0, at) + char + token.slice(at + 1);
        expect((await verifier.verify(altered, 'host-a', 3)).valid).toBe(false);
      }),
      { numRuns: 300 },
    );
    for (const other of [
      `${token}=`,
      `${token}.`,
      ` ${token}`,
      token.toUpperCase(),
      `${token}\n`,
      '',
      'v4.public.',
    ])
      expect((await verifier.verify(other, 'host-a', 3)).valid).toBe(false);
  });

  it('a signed body that is no ticket of this version is malformed, not half understood', async () => {
    const sign = (body: unknown): string =>
      signAlone(secretAlone, JSON.stringify(body), signing.id, ASSERTION);
    const verifier = pasetoVerifier(pinned);
    const listed = { ...someTicket(), aud: ['host-a', 'host-b'] };
    const further = { ...someTicket(), onlyOnSundays: true };
    const fraction = { ...someTicket(), expiresMs: 1.5 };
    for (const body of [listed, further, fraction, {}])
      expect(await verifier.verify(sign(body), 'host-a', 3)).toEqual({ valid: false, reason: 'malformed' });
  });
});

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
});
