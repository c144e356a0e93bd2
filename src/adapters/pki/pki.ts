/**
 * Who a process is, shown by a certificate of the cell's own authority.
 *
 * - `authority.ts` makes the authority of a cell and the certificates that it issues; `authority-folder.ts` keeps both as files.
 *   Only the commands that issue load them.
 * - `credentials.ts` is what a process has: its own certificate and key, and the authorities that it trusts, read again when
 *   the files change.
 * - `bundle.ts` is what the authority hands to a machine that has a key of its own: a certificate for it, on a way that is
 *   trusted with nothing; `shown-authority.ts` is how a machine that knows a fingerprint only comes to its authority.
 * - `bearer.ts` is what a person has instead: a token, and the authorities that it is shown to.
 * - `delegations.ts`: what a monitor does for somebody else, signed with its own key, and checked by a host.
 * - `host-key.ts`: the key of all hosts, to which secrets are sealed (`sealed-box.ts`).
 * - `certified.ts` reads the identity in a certificate; `tls.ts` has the settings of both ends of a connection.
 */

/** The files of a credentials folder. The key and its certificate are one file, so that both change at once. */
export const CREDENTIAL_FILES = { authorities: 'ca.pem', identity: 'identity.pem' } as const;

/** In the folders of agents, and in those of monitors: the key to which secrets are sealed, and its certificate. */
export const HOST_KEY_FILES = { secret: 'hosts.key', certificate: 'hosts.pem' } as const;

/** The code of the error when another role answers than the one that was called. */
export const OTHER_SERVER = 'OTHER_SERVER';

/** A folder whose files are no credentials, with what to do about it. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}
