/**
 * Who asks, and for whom: `token-api.ts` (tokens of people), `secret-api.ts` (secrets of their jobs) and `audit-api.ts` (who did what) are
 * bodies of the monitor's API, which `token-requests.ts` checks; `openid-api.ts` and `openid-requests.ts` are the same of providers of
 * other tokens; `delegation-schema.ts` is what a monitor brings to a host when it does something for
 * somebody.
 */

/** Of a request from a monitor to a host: what it was delegated. */
export const DELEGATION_HEADER = 'moorage-delegation';
