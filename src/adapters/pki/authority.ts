import 'reflect-metadata';
import { createPrivateKey, createPublicKey, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Identity } from '../../core/access/identity.ts';
import { identityUri, storeName } from '../../core/access/identity.ts';
import { hostKeyUri } from '../../core/access/secret.ts';

/** ECDSA on P-256: Node, Go (etcd) and browsers all take it, and it is quicker to verify than Ed25519 here. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A certificate counts from a little before now: the clocks of two machines may differ. */
const BACKDATED_MS = 5 * 60_000;
const SERIAL_BYTES = 16;

/** A certificate and its key, as PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly nowMs: number;
  readonly ttlMs: number;
}

/** Makes the authority of a cell: a key, and a certificate that it signed itself. It signs leaves only. */
export async function makeAuthority(cell: string, validity: Validity): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...commonOf(validity),
    name: `CN=authority, O=${cell}`,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

/** Issues a certificate for both ends of a connection, with a new key. */
export async function issue(authority: KeyPair, identity: Identity, terms: LeafTerms): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await certify(authority, identity, { ...terms, publicKey: keys.publicKey });
  return { certificate, key: await pemOf(keys.privateKey) };
}

export interface LeafTerms extends Validity {
  /** The addresses and names at which its holder serves. */
  readonly hosts: readonly string[];
}

/** The same for a key that its holder has made. @param publicKey SPKI, as PEM @throws when it is no key on P-256 */
export async function issueFor(
  authority: KeyPair,
  identity: Identity,
  { publicKey, ...terms }: LeafTerms & { readonly publicKey: string },
): Promise<string> {
  const bytes = createPublicKey(publicKey).export({ type: 'spki', format: 'der' });
  const key = await webcrypto.subtle.importKey('spki', bytes, ALGORITHM, true, ['verify']);
  return certify(authority, identity, { ...terms, publicKey: key });
}

async function certify(
  authority: KeyPair,
  identity: Identity,
  { hosts, publicKey, ...validity }: LeafTerms & { readonly publicKey: webcrypto.CryptoKey },
): Promise<string> {
  const issuer = new X509Certificate(authority.certificate);
  const names = [
    { type: 'url' as const, value: identityUri(identity) },
    ...(identity.role === 'etcd' ? [{ type: 'dns' as const, value: storeName(identity.cell) }] : []),
    ...hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host })),
  ];
  const certificate = await X509CertificateGenerator.create({
    ...commonOf(validity),
    // Etcd takes the common name for the name of its user, and has one for each role.
    subject: `CN=${identity.role}, O=${identity.cell}`,
    issuer: issuer.subject,
    publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension(names),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return certificate.toString('pem');
}

/**
 * Certifies a key to which others seal what is for all hosts of a cell. It is of no use on a connection.
 * @param key its private half, as PEM
 */
export async function certifyHostKey(
  authority: KeyPair,
  cell: string,
  key: string,
  validity: Validity,
): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.certificate);
  const certificate = await X509CertificateGenerator.create({
    ...commonOf(validity),
    subject: `CN=hosts, O=${cell}`,
    issuer: issuer.subject,
    publicKey: new PublicKey(createPublicKey(key).export({ type: 'spki', format: 'der' })),
    signingKey: await importKey(authority.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyAgreement, true),
      new SubjectAlternativeNameExtension([{ type: 'url', value: hostKeyUri(cell) }]),
      await AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return { certificate: certificate.toString('pem'), key };
}

function commonOf({ nowMs, ttlMs }: Validity) {
  return {
    serialNumber: serialNumber(),
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + ttlMs),
    signingAlgorithm: ALGORITHM,
  };
}

/** Positive, as it must be: the first bit is 0, the next one 1. */
function serialNumber(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

/** @returns as PEM */
export async function makeKey(): Promise<string> {
  return pemOf((await generateKeys()).privateKey);
}

function generateKeys() {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', key);
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', bytes, ALGORITHM, false, ['sign']);
}
