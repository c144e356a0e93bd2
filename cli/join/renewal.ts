import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { isOfKey, openBundle } from '../../src/adapters/pki/bundle.ts';
import { identityOf } from '../../src/adapters/pki/certified.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { writeHostCertificate } from './joined-folder.ts';
import { CREDENTIAL_FILES } from '../../src/adapters/pki/pki.ts';
import { writeWhole } from '../../src/adapters/disk/write-whole.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { SignedBundle } from '../../src/core/access/invitation.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { signedBundleCodec } from '../../src/wire/records/records.ts';

/** A certificate of 24 h is looked for every 10 minutes, one of a minute every second. */
const LOOKS_IN_A_LIFE = 144;
const [LOOK_MIN_MS, LOOK_MAX_MS] = [1_000, 600_000];
const CERTIFICATE_MODE = 0o644;

/** How often to look whether a certificate of this life is renewed. */
export function renewalLookMs(lifeMs: number): number {
  return Math.min(LOOK_MAX_MS, Math.max(LOOK_MIN_MS, lifeMs / LOOKS_IN_A_LIFE));
}

/**
 * Looks in the store, for as long as the agent runs, whether its certificate was renewed, or one of the roles that run on its
 * host, and puts the new one into the credentials folder: whoever reads that takes it from there.
 * @param roles folders of the roles
 * @returns ends it
 */
export function followRenewals(
  credentials: Credentials,
  roles: readonly string[],
  { etcd, log }: { readonly etcd: readonly string[]; readonly log: Log },
): () => void {
  let timer: NodeJS.Timeout | null = null;
  const again = (): void => {
    const { notAfter, notBefore } = timesOf(credentials.now.certificate);
    timer = setTimeout(() => void look(), renewalLookMs(notAfter - notBefore)).unref();
  };
  const look = async (): Promise<void> => {
    try {
      await takeRenewals(credentials, roles, etcd);
      credentials.reload();
    } catch (error) {
      log.warn({ error }, 'whether the certificate was renewed cannot be said');
    }
    if (timer !== null) again();
  };
  again();
  return () => {
    clearTimeout(timer ?? undefined);
    timer = null;
  };
}

/** Those of all folders, with one question. */
async function takeRenewals(
  credentials: Credentials,
  roles: readonly string[],
  etcd: readonly string[],
): Promise<void> {
  const folders = new Map<string, string>();
  for (const folder of [credentials.folder, ...roles]) {
    const identity = identityOf(new X509Certificate(readFileSync(join(folder, CREDENTIAL_FILES.identity))));
    if (identity !== null)
      folders.set(cellKeys(identity.cell).certificate(identity.role, identity.id), folder);
  }
  const store = new EtcdCellStore({ endpoints: etcd, credentials, clock: systemClock, log: silentLog });
  try {
    for (const [key, { value }] of (await store.read([...folders.keys()])).entries)
      await takeRenewal(folders.get(key) ?? '', signedBundleCodec.decode(value));
  } catch (error) {
    // Another time the store will answer.
    if (!(error instanceof StoreError)) throw error;
  } finally {
    await store.close();
  }
}

/**
 * @returns false: the folder has it already, or something newer
 * @throws CredentialsError when no authority signed it that the folder trusts, or it is of another key
 */
export async function takeRenewal(folder: string, signed: SignedBundle): Promise<boolean> {
  const [authorityFile, identityFile] = [
    join(folder, CREDENTIAL_FILES.authorities),
    join(folder, CREDENTIAL_FILES.identity),
  ];
  const [authorities, identity] = [readFileSync(authorityFile, 'utf8'), readFileSync(identityFile, 'utf8')];
  const bundle = openBundle(signed, authorities);
  const isOlder = timesOf(bundle.certificate).notAfter < timesOf(identity).notAfter;
  if (isOlder || !isOfKey(bundle.certificate, identity)) return false;
  const text = `${keyIn(identity)}${bundle.certificate}`;
  if (text === identity && bundle.authorities === authorities) return false;
  // Whom to trust first: the new certificate may be of the new authority.
  await writeWhole(authorityFile, bundle.authorities, CERTIFICATE_MODE);
  await writeWhole(identityFile, text);
  await writeHostCertificate(folder, bundle);
  return true;
}

function keyIn(identity: string): string {
  return /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/.exec(identity)?.[0] ?? '';
}

function timesOf(certificate: string): { readonly notBefore: number; readonly notAfter: number } {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) };
}
