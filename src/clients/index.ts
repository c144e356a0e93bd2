/** What other programs import: the typed clients of a cell's APIs, and the shapes that they speak. */
export { MonitorClient } from './monitor-client.ts';
export { HostClient } from './host-client.ts';
export { SchedulerClient } from './scheduler-client.ts';
export { ArbiterClient } from './arbiter-client.ts';
export type * from '../wire/api/monitor-api.ts';
export type * from '../ports/http.ts';
