import { join } from 'node:path';
import { runArbiter } from '../../arbiter/main.ts';
import { readSigningKey } from '../../src/adapters/tickets/key-files.ts';
import type { Context } from '../command/context.ts';
import type { RoleFlags } from './options.ts';
import { keysFolder, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface ArbiterFlags extends RoleFlags {
  readonly keys?: string;
}

export function serveArbiter(context: Context, flags: ArbiterFlags): Promise<number> {
  const basics = roleBasics(flags, 'arbiter');
  const signingKeyFile = join(keysFolder(flags.keys, 'arbiter'), 'arbiter.secret');
  return serveRole(context, basics, {
    check: () => readSigningKey(signingKeyFile),
    start: () => runArbiter({ ...basics, signingKeyFile }),
  });
}
