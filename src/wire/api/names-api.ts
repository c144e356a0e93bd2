import type { Endpoint } from '../../core/names/endpoints.ts';

/**
 * The monitor's API about names (`<port>.<group>.<job>.<namespace>`) and who serves them.
 *
 *   GET /v1/names?namespace          → NameListAnswer: those that have a job
 *   GET /v1/names/:name              → NameAnswer
 *   GET /v1/names?follow=true&names  → NDJSON of NameFrame, without an end
 *   POST /v1/names/follow            NamesWanted → the same, of more names than an address has room for
 *
 * The stream begins when the monitor has heard of every host, with one `name` for each name that is asked for (of all names, for
 * each that has an endpoint), then `view` with `synced`. From there on it has `name` with all endpoints of a name whenever they
 * are others, and `view` every `NAMES_BEAT_MS`.
 */
export interface NameAnswer {
  readonly name: string;
  readonly namespace: string;
  readonly job: string;
  readonly group: string;
  readonly port: string;
  /** Ordered by index. On a silent host they have `staleSinceMs`, and are to be used only when all have. */
  readonly endpoints: readonly Endpoint[];
  /** Not every host has reported to this monitor yet: there may be more endpoints. */
  readonly incomplete: boolean;
}

export interface NameListAnswer {
  readonly names: readonly Omit<NameAnswer, 'incomplete'>[];
  readonly incomplete: boolean;
}

export type NameFrame = NameChange | NameView;

export interface NameChange {
  readonly kind: 'name';
  readonly name: string;
  /** Is there a job with such a port, or an instance of it? */
  readonly known: boolean;
  readonly endpoints: readonly Endpoint[];
}

export interface NameView {
  readonly kind: 'view';
  readonly complete: boolean;
  readonly synced: boolean;
}

export const NAMES_BEAT_MS = 3_000;
/** A stream that says nothing for so long is dead: two of its beats may be late. */
export const NAMES_SILENCE_MS = 9_000;

/** Of all names of one stream with the commas between: an address may have 2 KiB, and a comma takes three of them. */
export const NAMES_ASKED_CHARS_MAX = 1_500;

export interface NamesWanted {
  readonly names: readonly string[];
}

/** Of one stream with a body, which then has its 64 KiB when each name has 60 characters. */
export const NAMES_FOLLOWED_MAX = 1_000;
