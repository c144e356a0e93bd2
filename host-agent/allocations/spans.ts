import type { SpanFacts } from '../../src/core/trace/spans.ts';
import type { AllocationSpec, OutcomeRecord } from '../../src/wire/host-files/host-files.ts';
import type { AgentPorts } from '../ports.ts';

type Ports = Pick<AgentPorts, 'tracer' | 'clock'>;

/** @param startedAtMs when its first task started; null: none did, and now it never will */
export function tracePrepare(
  { tracer, clock }: Ports,
  spec: AllocationSpec,
  startedAtMs: number | null,
): void {
  const span = tracer?.begin('prepare', spec.traceparent, spec.acceptedAtMs);
  const failure = startedAtMs === null ? 'no task was started' : null;
  span?.end(about(spec), failure, Math.max(spec.acceptedAtMs, startedAtMs ?? clock.nowMs()));
}

export function traceRun({ tracer }: Ports, spec: AllocationSpec, outcome: OutcomeRecord): void {
  const { state, reason, exit, restarts, startedAtMs, endedAtMs } = outcome;
  if (startedAtMs === undefined) return;
  const span = tracer?.begin('run', spec.traceparent, startedAtMs);
  const ending = { state, reason, restarts, code: exit?.code, signal: exit?.signal };
  const failure = state === 'complete' ? null : reason;
  span?.end({ ...about(spec), ...ending }, failure, Math.max(startedAtMs, endedAtMs));
}

function about({
  allocation: { namespace, job, id, host },
}: AllocationSpec): Pick<SpanFacts<'run'>, 'job' | 'allocation' | 'host'> {
  return { job: `${namespace}/${job}`, allocation: id, host };
}
