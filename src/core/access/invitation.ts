import { isId } from '../cell/ids.ts';
import type { IdentityRole } from './identity.ts';
import { idInSecretText, secretText } from './secret-text.ts';

/**
 * A host that may join the cell, once. Its record is the mailbox between the machine, which asks through a monitor, and
 * whoever holds the authority's key, who answers:
 *
 *     invited ──► asked: the machine's key is there ──► answered: its certificate is there
 *
 * Each step is a compare-and-swap of the one before, so that one invitation never leads to two certificates.
 */
export interface Invitation {
  readonly id: string;
  /** The host's id from then on. */
  readonly host: string;
  /** The addresses and names at which it will serve, as its operator says: a machine does not choose them. */
  readonly hosts: readonly string[];
  /** SHA-256 of what the machine shows. */
  readonly hash: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly endsAtMs: number;
  readonly asked?: KeyRequest & { readonly atMs: number };
  readonly answer?: SignedBundle;
}

/** `asked`: a machine has shown it, and waits for its certificate. `used`: it has it. */
export type InvitationState = 'open' | 'asked' | 'used' | 'ended';

export function stateOfInvitation({ asked, answer, endsAtMs }: Invitation, nowMs: number): InvitationState {
  if (answer !== undefined) return 'used';
  if (asked !== undefined) return 'asked';
  return endsAtMs > nowMs ? 'open' : 'ended';
}

/** A machine's own key. */
export interface KeyRequest {
  /** SPKI, as PEM. */
  readonly publicKey: string;
  /** The id of the invitation, signed by the key: its holder asks. Base64. */
  readonly proof: string;
}

/** What the authority hands to the holder of a certificate. */
export interface Bundle {
  readonly cell: string;
  readonly role: IdentityRole;
  readonly id: string;
  /** As PEM. */
  readonly certificate: string;
  /** Whom to trust, as PEM. */
  readonly authorities: string;
  /** The arbiters' public keys, a line each; empty: of a renewal. */
  readonly pinnedKeys: string;
  /** Members of the store; empty: of a renewal. */
  readonly etcd: readonly string[];
  /** Of an agent that joins: the key of all hosts, sealed to the key of its certificate. */
  readonly hostKey?: string;
  /** Of a monitor: that key's certificate, as PEM. */
  readonly hostCertificate?: string;
}

/** A bundle on its way through the store, which is trusted with nothing of it. */
export interface SignedBundle {
  /** Of the bundle. */
  readonly text: string;
  /** Of the text, by the authority's key. Base64. */
  readonly signature: string;
}

/** Whom a monitor has before it when a machine shows its invitation. */
export interface Invited {
  readonly role: 'invited';
  /** Of the invitation. */
  readonly id: string;
  readonly host: string;
}

/** Of one cell. */
export const INVITATIONS_MAX = 1_024;
export const INVITATION_HOSTS_MAX = 16;
export const INVITATION_TTL_MAX_MS = 7 * 24 * 3_600_000;
export const PEM_CHARS_MAX = 4_096;
/** During a change of the authority there are two. */
export const FINGERPRINTS_MAX = 4;
export const JOIN_ADDRESSES_MAX = 16;

/** By which each kind of text is known wherever it turns up. */
const [SHOWN, CARRIED, BARE] = ['moorage-invitation', 'moorage-join', 'moorage-bare'];
/** SHA-256 of a certificate, as Node and openssl write it. */
const FINGERPRINT = /^[0-9A-F]{2}(?::[0-9A-F]{2}){31}$/;

/** What the machine shows to a monitor: `moorage-invitation.<id>.<secret>`. */
export function invitationText(id: string, secret: Uint8Array): string {
  return secretText(SHOWN, id, secret);
}

/** @returns the id in the text; null when it is none */
export function invitationIdOf(text: string): string | null {
  return idInSecretText(SHOWN, text);
}

/** What an operator carries to a machine that is to join: whom to ask, how to know them, and what to show. */
export interface JoinToken {
  readonly host: string;
  readonly monitors: readonly string[];
  /** Of the authorities that the machine may trust. */
  readonly fingerprints: readonly string[];
  readonly shown: string;
}

/** One word, without white space: `moorage-join.<host>.<fingerprints>.<id>.<secret>.<monitors>`. */
export function joinTokenText(token: JoinToken): string {
  return carriedText(CARRIED, token);
}

/** @returns null when it is none */
export function readJoinToken(text: string): JoinToken | null {
  return readCarried(CARRIED, text);
}

/** The other way round: with what whoever makes a cell comes to a machine that waits to be a part of one. */
export type BareToken = JoinToken;

export function bareTokenText(token: BareToken): string {
  return carriedText(BARE, token);
}

/** @returns null when it is none */
export function readBareToken(text: string): BareToken | null {
  return readCarried(BARE, text);
}

function carriedText(kind: string, { host, monitors, fingerprints, shown }: JoinToken): string {
  const prints = fingerprints.map((print) => print.replaceAll(':', '')).join('+');
  const [, id = '', secret = ''] = shown.split('.');
  return [kind, host, prints, id, secret, monitors.join('+')].join('.');
}

function readCarried(kind: string, text: string): JoinToken | null {
  const [found, host = '', prints = '', id = '', secret = '', ...rest] = text.trim().split('.');
  if (found !== kind || !isId(host)) return null;
  const fingerprints = prints.split('+').map((print) => (print.match(/../g) ?? []).join(':'));
  const shown = [SHOWN, id, secret].join('.');
  const monitors = rest.join('.').split('+');
  const fits = fingerprints.length <= FINGERPRINTS_MAX && monitors.length <= JOIN_ADDRESSES_MAX;
  if (!fits || invitationIdOf(shown) === null || !fingerprints.every((one) => FINGERPRINT.test(one)))
    return null;
  return monitors.every((url) => /^https:\/\/[^/\s]+$/.test(url))
    ? { host, monitors, fingerprints, shown }
    : null;
}

export function invitedOf({ id, host }: Invitation): Invited {
  return { role: 'invited', id, host };
}
