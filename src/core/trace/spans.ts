/** What a span tells: the role that records it, and from when to when it lasts. */
export interface SpanMeaning {
  readonly role: 'monitor' | 'scheduler' | 'arbiter' | 'host-agent';
  /** `server`: it answers a request; `client`: it makes one. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly help: string;
  /** What it carries, each under `moorage.` */
  readonly facts: readonly string[];
}

const span = <const F extends string>(
  role: SpanMeaning['role'],
  kind: SpanMeaning['kind'],
  help: string,
  ...facts: readonly F[]
) => ({ role, kind, help, facts });

/** Every span of a job's way, in its order; `docs/monitoring.md` is generated from them. */
export const SPANS = {
  submit: span(
    'monitor',
    'server',
    'A request for a job or a run, until its record is durable. All below belong to it.',
    ...['job', 'jobs', 'request', 'version'],
  ),
  decide: span(
    'scheduler',
    'internal',
    'One turn of the job: hosts are sought for some of its allocations.',
    ...['job', 'placements'],
  ),
  ticket: span(
    'scheduler',
    'client',
    'Tickets are asked for, for all placements of a plan.',
    ...['job', 'placements', 'refused'],
  ),
  grant: span(
    'arbiter',
    'server',
    'An arbiter decides on the placements of one trace in a request. Belongs to `ticket`.',
    ...['job', 'scheduler', 'granted', 'refused'],
  ),
  commit: span(
    'scheduler',
    'client',
    'A plan is committed, with all that it is tried again.',
    ...['job', 'plan', 'committed', 'rebased', 'conflicted'],
  ),
  start: span(
    'scheduler',
    'client',
    'The order to start one allocation. Each try is one.',
    ...['job', 'allocation', 'host'],
  ),
  accept: span(
    'host-agent',
    'server',
    'The host checks the order and its ticket, and keeps it. Belongs to `start`.',
    ...['job', 'allocation', 'host'],
  ),
  prepare: span(
    'host-agent',
    'internal',
    'From accepted to started: victims leave, files are fetched, the tasks are begun.',
    ...['job', 'allocation', 'host'],
  ),
  run: span(
    'host-agent',
    'internal',
    'From the first start of a task to the end of the last. It is sent at its end.',
    ...['job', 'allocation', 'host', 'state', 'reason', 'code', 'signal', 'restarts'],
  ),
  release: span(
    'scheduler',
    'client',
    'The claim is returned and the outcome kept, in one commit.',
    ...['job', 'allocation', 'host', 'state'],
  ),
  exit: span(
    'monitor',
    'server',
    'A client waits for how the job ends, until it is told.',
    ...['job', 'request', 'state'],
  ),
} satisfies Readonly<Record<string, SpanMeaning>>;

export type SpanName = keyof typeof SPANS;
export type SpanFacts<N extends SpanName> = Readonly<
  Partial<Record<(typeof SPANS)[N]['facts'][number], string | number | undefined>>
>;
