/** What other programs import: a client of a cell, the typed clients of its roles' APIs, and the shapes that they speak. */
export { connect } from './connect.ts';
export type { ConnectOptions } from './connect.ts';
export { ConnectError } from './connect-error.ts';
export { ProblemError } from '../wire/api/problem.ts';
export { MonitorClient } from '../clients/monitor-client.ts';
export { HostClient } from '../clients/host-client.ts';
export { SchedulerClient } from '../clients/scheduler-client.ts';
export { ArbiterClient } from '../clients/arbiter-client.ts';
export type * from '../wire/api/monitor-api.ts';
export type * from '../ports/http.ts';
