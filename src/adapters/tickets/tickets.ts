/**
 * Tickets that are signed many at a time. What an arbiter grants in one request are the leaves of a tree (`hash-tree.ts`);
 * its root is signed once, as a PASETO v4.public token (`paseto.ts`). A ticket is one text, and all that a host needs:
 *
 *     moorage-ticket-2 . <position> . <path to the root> . <body> . <token of the root>
 *
 * The token's footer names the key, so that several can be pinned while one is replaced. The host and its incarnation are
 * part of the leaf and not of the text: another host comes to another root, and so cannot even verify the ticket.
 * `key-files.ts` makes and reads the keys.
 */
import type { KeyObject } from 'node:crypto';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import type { TicketBody } from '../../core/quota/ticket.ts';
import type { TicketSigner, TicketVerifier, VerifiedTicket } from '../../ports/crypto.ts';
import type { TicketRoot } from '../../wire/api/ticket-schema.ts';
import { readTicketBody, readTicketRoot } from '../../wire/api/ticket-schema.ts';
import { HashTree, leafOf, rootOver } from './hash-tree.ts';
import { bytesOf, footerOf, openToken, signToken } from './paseto.ts';

export interface SigningKey {
  /** As it stands in the footer of tokens; see `keyIdOf` in key-files. */
  readonly id: string;
  readonly secret: KeyObject;
}

export interface PinnedKey {
  readonly id: string;
  readonly public: KeyObject;
}

const HEAD = 'moorage-ticket-2';
/** A ticket for one host with many GPUs and ports is some 4 KB; more is not read. */
const TICKET_CHARS_MAX = 16 * 1024;
/** Parts of a ticket, of which the token has the last four. */
const PARTS = 8;
/** A root is of one request, whose tickets are used within seconds. */
const ROOTS_KEPT_MAX = 512;

/** Outside the token: a token that this key signed for anything else is no root of tickets. */
const ROOT_ASSERTION = canonicalJson(['moorage-ticket-root']);

export function ticketSigner(key: SigningKey): TicketSigner {
  return {
    sign: async (bodies) => {
      if (bodies.length === 0) return [];
      const texts = bodies.map((body) => Buffer.from(JSON.stringify(body)).toString('base64url'));
      const leaves = bodies.map(({ aud, hostIncarnation }, position) =>
        leafFor(aud, hostIncarnation, texts[position]!),
      );
      const tree = new HashTree(leaves);
      const root: TicketRoot = { root: tree.root.toString('base64url'), tickets: bodies.length };
      const token = signToken(key.secret, { message: JSON.stringify(root), footer: key.id }, ROOT_ASSERTION);
      return texts.map((text, position) =>
        [HEAD, String(position), tree.path(position).toString('base64url'), text, token].join('.'),
      );
    },
  };
}

/** @param pinned the only keys that are trusted */
export function ticketVerifier(pinned: readonly PinnedKey[]): TicketVerifier {
  const roots = new VerifiedRoots(pinned);
  return {
    verify: async (ticket, host, hostIncarnation) => {
      if (!ticket.startsWith(`${HEAD}.`)) return refused('unknown-format');
      const parts = ticket.length > TICKET_CHARS_MAX ? [] : ticket.split('.', PARTS + 1);
      if (parts.length !== PARTS) return refused('malformed');
      const [, positionText = '', pathText = '', text = '', ...token] = parts;
      const position = positionOf(positionText);
      const path = bytesOf(pathText);
      if (position === null || path === null) return refused('malformed');
      const root = roots.verified(token.join('.'));
      if (typeof root === 'string') return refused(root);
      const reached = rootOver(leafFor(host, hostIncarnation, text), position, root.tickets, path);
      if (reached?.toString('base64url') !== root.root) return refused('bad-signature');
      const body = bodyIn(text);
      return body === null ? refused('malformed') : { valid: true, body };
    },
  };
}

/** What a ticket says, by its own word alone. */
export interface ReadTicket {
  readonly body: TicketBody;
  /** Of the key that its signature names. */
  readonly keyId: string;
  /** Its place among the tickets that were signed with it. */
  readonly position: number;
}

/** Reads a ticket without asking who signed it, for people; null: this is no ticket of this version. */
export function readTicket(ticket: string): ReadTicket | null {
  const parts = ticket.length > TICKET_CHARS_MAX ? [] : ticket.split('.', PARTS + 1);
  const [head, positionText = '', , text = '', ...token] = parts;
  if (head !== HEAD || parts.length !== PARTS) return null;
  const [position, keyId, body] = [positionOf(positionText), footerOf(token.join('.')), bodyIn(text)];
  return position === null || keyId === null || body === null ? null : { body, keyId, position };
}

type Refusal = Extract<VerifiedTicket, { readonly valid: false }>;

function refused(reason: Refusal['reason']): Refusal {
  return { valid: false, reason };
}

/** Roots whose signature was good, so that each is verified once. Of those that are not good nothing is kept. */
class VerifiedRoots {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  /** By their token, the oldest first. */
  readonly #known = new Map<string, TicketRoot>();

  constructor(pinned: readonly PinnedKey[]) {
    this.#keys = new Map(pinned.map((key) => [key.id, key.public]));
  }

  verified(token: string): TicketRoot | Refusal['reason'] {
    const known = this.#known.get(token);
    if (known !== undefined) return known;
    // The name of the key is not verified yet: it only chooses among the pinned ones.
    const keyId = footerOf(token);
    if (keyId === null) return 'malformed';
    const key = this.#keys.get(keyId);
    if (key === undefined) return 'unknown-key';
    const opened = openToken(key, token, ROOT_ASSERTION);
    if (opened === null) return 'bad-signature';
    const root = readTicketRoot(jsonIn(opened.message));
    if (root === null) return 'malformed';
    this.#keep(token, root);
    return root;
  }

  #keep(token: string, root: TicketRoot): void {
    if (this.#known.size >= ROOTS_KEPT_MAX) {
      const [oldest = ''] = this.#known.keys();
      this.#known.delete(oldest);
    }
    this.#known.set(token, root);
  }
}

/** The leaf is of the text as it is carried, so that a body has one spelling. No JSON has a line end in it. */
function leafFor(host: string, hostIncarnation: number, text: string): Buffer {
  return leafOf(`${canonicalJson(['moorage-ticket', host, hostIncarnation])}\n${text}`);
}

/** A whole number in its one spelling. */
function positionOf(text: string): number | null {
  return /^(?:0|[1-9][0-9]{0,5})$/.test(text) ? Number(text) : null;
}

function bodyIn(text: string): TicketBody | null {
  return readTicketBody(jsonIn(Buffer.from(text, 'base64url').toString('utf8')));
}

/** What the text says; undefined: it is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
