import { createPrivateKey, sign, verify, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Identity } from '../../core/access/identity.ts';
import type { OpenDelegation, OpenedDelegation, SignDelegation } from '../../ports/crypto.ts';
import { readDelegation } from '../../wire/access/delegation-schema.ts';
import { certificateOf, certificatesIn, identityOf, isIssuedBy } from './certified.ts';
import type { Credentials, KeyMaterial } from './credentials.ts';

/**
 * Delegations as texts, signed with the key of their monitor's own certificate, which they bring along:
 *
 *     moorage-delegation-1 . <certificate> . <delegation> . <signature>
 *
 * A host needs nothing but the authorities that it trusts anyway.
 */

const HEAD = 'moorage-delegation-1';
/** A certificate with many addresses is some 2 KB; more is not read. */
const TEXT_CHARS_MAX = 6 * 1024;
const PARTS = 4;
/** Of monitors, which are few. */
const SIGNERS_KEPT_MAX = 64;

interface SigningPair {
  readonly of: KeyMaterial;
  readonly key: KeyObject;
  readonly certificate: string;
}

/** Signs with what the credentials are at the time. */
export function delegationSigner(credentials: Credentials): SignDelegation {
  let pair: SigningPair | null = null;
  return (delegation) => {
    const { now } = credentials;
    if (pair?.of !== now) pair = pairOf(now);
    const body = Buffer.from(JSON.stringify(delegation)).toString('base64url');
    const signature = sign('sha256', signedText(body), pair.key).toString('base64url');
    return [HEAD, pair.certificate, body, signature].join('.');
  };
}

function pairOf(of: KeyMaterial): SigningPair {
  return {
    of,
    key: createPrivateKey(of.key),
    certificate: new X509Certificate(of.certificate).raw.toString('base64url'),
  };
}

/** What else the key signs is no text that begins so. */
function signedText(body: string): Buffer {
  return Buffer.from(`${HEAD}\n${body}`);
}

interface Signer {
  readonly identity: Identity;
  readonly key: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** @param nowMs when certificates must count */
export function delegationOpener(credentials: Credentials, nowMs: () => number): OpenDelegation {
  let trusted: string | null = null;
  /** By their certificate. Of those who are no monitors nothing is kept. */
  const signers = new Map<string, Signer>();
  const signerOf = (text: string): Signer | null => {
    const { authorities } = credentials.now;
    if (trusted !== authorities) signers.clear();
    trusted = authorities;
    const known = signers.get(text);
    if (known !== undefined) return known;
    const found = readSigner(text, authorities, credentials.identity.cell);
    if (found === null) return null;
    if (signers.size >= SIGNERS_KEPT_MAX) signers.clear();
    signers.set(text, found);
    return found;
  };
  return (text) => {
    const parts = text.length > TEXT_CHARS_MAX ? [] : text.split('.', PARTS + 1);
    const [head, certificate = '', body = '', signature = ''] = parts;
    if (parts.length !== PARTS || head !== HEAD) return refused('malformed');
    const signer = signerOf(certificate);
    if (signer === null || nowMs() < signer.notBeforeMs || nowMs() > signer.notAfterMs)
      return refused('unknown-signer');
    if (!verify('sha256', signedText(body), signer.key, Buffer.from(signature, 'base64url')))
      return refused('bad-signature');
    const delegation = readDelegation(jsonIn(body));
    return delegation === null
      ? refused('malformed')
      : { valid: true, monitor: signer.identity.id, delegation };
  };
}

type Refusal = Extract<OpenedDelegation, { readonly valid: false }>;

function refused(reason: Refusal['reason']): Refusal {
  return { valid: false, reason };
}

/** @returns null: it is no certificate of a monitor of this cell from a trusted authority */
function readSigner(text: string, authorities: string, cell: string): Signer | null {
  const certificate = certificateOf(Buffer.from(text, 'base64url'));
  const identity = certificate === null ? null : identityOf(certificate);
  if (certificate === null || identity?.role !== 'monitor' || identity.cell !== cell) return null;
  const isTrusted = certificatesIn(authorities).some((authority) => isIssuedBy(certificate, authority));
  if (!isTrusted) return null;
  const { publicKey: key, validFrom, validTo } = certificate;
  return { identity, key, notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) };
}

/** undefined: it is no JSON. */
function jsonIn(base64url: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64url, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
