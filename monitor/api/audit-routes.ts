import type { AuditRecord } from '../../src/core/access/audit.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { AuditAnswer } from '../../src/wire/access/audit-api.ts';
import { AUDIT_ANSWER_MAX } from '../../src/wire/access/audit-api.ts';
import type { MonitorState } from './monitor-state.ts';
import { countIn, namespaceIn } from './requests.ts';

const USUAL = 200;

export function auditRoutes(state: MonitorState): Route[] {
  return [{ method: 'GET', path: '/v1/audit', right: 'audit', handle: (request) => records(state, request) }];
}

async function records({ audit }: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const { by = '', target = '', act } = request.query;
  const namespace = namespaceIn(request);
  const sinceMs = countIn(request, 'since', 0, Number.MAX_SAFE_INTEGER);
  const limit = countIn(request, 'limit', USUAL, AUDIT_ANSWER_MAX);
  const fits = (record: AuditRecord): boolean =>
    record.by.startsWith(by) &&
    record.target.startsWith(target) &&
    (act === undefined || record.act === act) &&
    (namespace === null || record.namespace === namespace) &&
    record.atMs >= sinceMs;
  const found = (await audit.list()).filter(fits);
  const cut = Math.max(0, found.length - limit);
  const body: AuditAnswer = { records: found.slice(cut), isCut: cut > 0 };
  return { status: 200, body };
}
