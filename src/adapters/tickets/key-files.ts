import { createHash, KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PublicProtocol } from 'paseto';
import {
  ExportPublicKeyFactory,
  ExportSecretKeyFactory,
  GenerateKeyPairFactory,
  GetPublicKeyFactory,
  ImportPublicKeyFactory,
  ImportSecretKeyFactory,
  PublicKeyToCryptoKey,
  SecretKeyToCryptoKey,
} from 'paseto/v4/public';
import type { PublicKey, SecretKey } from 'paseto/v4/public';
import { makeFolder } from '../disk/make-folder.ts';
import { writeWhole } from '../disk/write-whole.ts';
import type { PinnedKey, SigningKey } from './tickets.ts';

/**
 * Keys of arbiters as files: the secret one as one line `k4.secret.…`, the pinned ones as lines `k4.public.…` (PASERK),
 * where a line that begins with `#` is a comment. To replace a key: pin the new one beside the old everywhere, give the
 * new secret to the arbiters, and unpin the old one after the longest ticket has ended.
 */
export interface KeyFiles {
  readonly signingKeyFile: string;
  readonly pinnedKeysFile: string;
}

/** More pinned keys than this are no rotation. */
const PINNED_MAX = 16;

const protocol = new PublicProtocol(
  GenerateKeyPairFactory,
  ImportPublicKeyFactory,
  ImportSecretKeyFactory,
  ExportPublicKeyFactory,
  ExportSecretKeyFactory,
  GetPublicKeyFactory,
);

/** A key file that cannot be used, with what to do about it. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError';
}

/** Makes both files in the folder where they are missing. Only their owner may read them. */
export async function makeKeyFiles(folder: string): Promise<KeyFiles> {
  const files = {
    signingKeyFile: join(folder, 'arbiter.secret'),
    pinnedKeysFile: join(folder, 'arbiters.public'),
  };
  makeFolder(folder, 0o700);
  const secretThere = await exists(files.signingKeyFile);
  if (secretThere && (await exists(files.pinnedKeysFile))) return files;
  if (!secretThere) {
    const { secretKey } = await protocol.GenerateKeyPair({ extractable: true });
    await writeWhole(files.signingKeyFile, `${await protocol.ExportSecretKey(secretKey)}\n`);
  }
  // A crash between the two files leaves a secret without its public half, which can be made again.
  const publicKey = await protocol.GetPublicKey(await readSecretKey(files.signingKeyFile));
  await writeWhole(files.pinnedKeysFile, `${await protocol.ExportPublicKey(publicKey)}\n`);
  return files;
}

/** @throws KeyFileError when it is no key, or when users other than its owner may read it */
export async function readSigningKey(file: string): Promise<SigningKey> {
  const secret = await readSecretKey(file);
  const id = await keyIdOf(await protocol.GetPublicKey(secret));
  return { id, secret: KeyObject.from(SecretKeyToCryptoKey(secret)) };
}

/** It can be exported, and so its public half be made again. */
async function readSecretKey(file: string): Promise<SecretKey> {
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) throw new KeyFileError(`${file} can be read by others: chmod 600 ${file}`);
  const text = (await readFile(file, 'utf8')).trim();
  return protocol.ImportSecretKey(text as `k4.secret.${string}`, { extractable: true }).catch(() => {
    throw new KeyFileError(`${file} holds no key of the form k4.secret.…`);
  });
}

/** @throws KeyFileError when a line is no key, or when there is none */
export async function readPinnedKeys(file: string): Promise<readonly PinnedKey[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0)
    throw new KeyFileError(`${file} holds no key: a host without one would start nothing`);
  if (keys.length > PINNED_MAX) throw new KeyFileError(`${file} holds more than ${String(PINNED_MAX)} keys`);
  return Promise.all(keys.map((text) => readPinnedKey(text, file)));
}

async function readPinnedKey(text: string, file: string): Promise<PinnedKey> {
  const key = await protocol.ImportPublicKey(text as `k4.public.${string}`).catch(() => {
    throw new KeyFileError(`${file} has a line that is no key of the form k4.public.…`);
  });
  return { id: await keyIdOf(key), public: KeyObject.from(PublicKeyToCryptoKey(key)) };
}

/** Names a key by its content, so that two files cannot disagree about what a name means. */
async function keyIdOf(key: PublicKey): Promise<string> {
  return createHash('sha256')
    .update(await protocol.ExportPublicKey(key))
    .digest('hex')
    .slice(0, 16);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
