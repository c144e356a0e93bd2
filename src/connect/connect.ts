/**
 * A client of a cell, for other programs and for the command line: where its monitors are and what is shown to them is found in one way.
 *
 * - `index.ts`: what `import { connect } from 'moorage'` has
 * - `testing.ts`: `moorage/testing`, a cell for the tests of another program
 * - `reach.ts`: what is shown to them, and the client that shows it; `credentials.ts` reads a folder with a certificate
 * - `cell-address.ts`: the monitors, from what is named, the environment, the development cell of a folder, or a saved context
 * - `contexts.ts`: the saved contexts; `connect-error.ts`: what is wrong with any of it
 */
import type { MonitorClient } from '../clients/monitor-client.ts';
import { findCell } from './cell-address.ts';
import type { Environment } from './connect-error.ts';
import { bearerReach, clientOf, reachOf } from './reach.ts';

/** Which cell, and who the caller is there. What is absent is found as `moorage` finds it. */
export interface ConnectOptions {
  /** Monitors: `https://10.0.0.2:7402`, several separated by commas or as a list. */
  readonly address?: string | readonly string[];
  /** A folder with a certificate, as `moorage pki issue` makes it. */
  readonly credentials?: string;
  /** A token, with the certificates of the cell's authority as PEM, instead of a certificate. */
  readonly token?: string;
  readonly authorities?: string;
  /** A saved context, as `moorage context` lists them. */
  readonly context?: string;
  /** Ends every call that has no signal of its own. */
  readonly signal?: AbortSignal;
  /** Default: those of the process. */
  readonly env?: Environment;
  readonly cwd?: string;
}

/**
 * A client of a cell's monitors. It keeps no connection that would hold the process open.
 *
 * @throws ConnectError when what names the cell, or what is shown to it, cannot be read; no monitor is called yet
 */
export async function connect(options: ConnectOptions = {}): Promise<MonitorClient> {
  const { env = process.env, cwd = process.cwd(), address = [], token, authorities } = options;
  const found = findCell({ option: [address].flat(), context: options.context, env, cwd });
  const reach =
    token === undefined
      ? await reachOf(found, { credentials: options.credentials, env, cwd })
      : await bearerReach(found.addresses, token, authorities);
  return clientOf(reach, options.signal);
}
