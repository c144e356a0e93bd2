import type { Asked, DelegatedAct } from '../../src/core/access/delegation.ts';
import { askedText, delegationRefusal, ENTERING_ACTS } from '../../src/core/access/delegation.ts';
import type { Digest, OpenDelegation } from '../../src/ports/crypto.ts';
import type { RouteRequest } from '../../src/ports/http.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { DELEGATION_HEADER } from '../../src/wire/access/access.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';

export interface DelegationChecks {
  readonly open: OpenDelegation;
  readonly digest: Digest;
}

export interface DelegatedRoute {
  readonly host: string;
  readonly allocation: string;
  readonly act: DelegatedAct;
  readonly nowMs: number;
  readonly log: Log;
}

/**
 * What a monitor does inside a task it does for somebody: the request brings a delegation that this monitor signed, for this
 * host, this allocation, this act and just this request, a moment ago.
 * @param checks absent: this host has no credentials, and trusts whoever reaches it
 * @throws ProblemError `not-delegated`
 */
export function checkDelegated(
  { peer, headers, params, query, body }: RouteRequest,
  { host, allocation, act, nowMs, log }: DelegatedRoute,
  checks: DelegationChecks | undefined,
): void {
  if (peer === null || checks === undefined) return;
  const text = headers[DELEGATION_HEADER];
  if (text === undefined) throw notDelegated('there is none');
  const opened = checks.open(text);
  if (!opened.valid) throw notDelegated(opened.reason);
  if (peer.role !== 'monitor' || opened.monitor !== peer.id) throw notDelegated('another monitor signed it');
  const { command } = params;
  const asked: Asked = { query, body, ...(command === undefined ? {} : { command }) };
  const request = checks.digest(askedText(asked));
  const why = delegationRefusal(opened.delegation, { host, allocation, act, request }, nowMs);
  if (why !== null) throw notDelegated(why);
  if (ENTERING_ACTS.has(act))
    log.info({ allocation, act, by: opened.delegation.by, monitor: peer.id }, 'entered a task for somebody');
}

function notDelegated(why: string): ProblemError {
  const detail = `the request brings no delegation that lets it do that here: ${why}`;
  return new ProblemError({ status: 403, code: 'not-delegated', detail });
}
