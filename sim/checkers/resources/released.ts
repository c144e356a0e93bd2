import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { ADDRESSES } from '../../../src/core/cell/resources.ts';
import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { HostFact } from '../../history/host-facts.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { AllocationStory, RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

interface Binding {
  readonly attempt: string;
  readonly at: Stamp;
}

/**
 * I45: capacity, ports and addresses return to the cell when nothing of the allocation is left on its host, never before: no
 * process, and no port or address that is still bound.
 * I47: the ports and addresses of an allocation are bound by its own processes only, and by them no others.
 */
export function checkReleased(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  for (const story of run.allocations.values()) checkRelease(story, run, findings);
  const bound = new Map<string, Binding>();
  const free = (place: string, at: Stamp): void => {
    const binding = bound.get(place);
    bound.delete(place);
    if (binding !== undefined) checkFreed(place, binding, at, run, findings);
  };
  for (const { seq, atMs, fact } of history.hosts) {
    const at = { seq, atMs };
    if (fact.kind === 'power-off' || fact.kind === 'boot') {
      for (const place of bound.keys()) if (place.startsWith(`${fact.host}:`)) bound.delete(place);
    } else if (fact.kind === 'freed') {
      free(`${fact.host}:${fact.name}`, at);
    } else if (fact.kind === 'bound') {
      const place = `${fact.host}:${fact.name}`;
      checkBound(fact, { place, at, holder: bound.get(place) }, run, findings);
      bound.set(place, { attempt: fact.attempt, at });
    }
  }
}

/** An allocation of a lost host is released unseen, once its time is over (the fence). */
function checkRelease(story: AllocationStory, run: RunIndex, findings: Findings): void {
  const { deleted, allocation, outcome } = story;
  if (deleted === null || outcome?.fact.exit?.lost === 'host-lost') return;
  for (const { started, ended, host } of run.processesOf.get(allocation.id) ?? []) {
    if (started.seq > deleted.seq || (ended !== null && ended.seq < deleted.seq)) continue;
    const facts: [Stamp, ...Stamp[]] = [story.created, started, deleted];
    if (ended !== null) facts.push(ended);
    findings.prove('I45', allocation.id, `it was released while it still ran on ${host}`, facts);
  }
}

/** Was the port or address bound when its allocation was released? */
function checkFreed(place: string, binding: Binding, at: Stamp, run: RunIndex, findings: Findings): void {
  const story = run.allocations.get(allocationOf(binding.attempt));
  if (story === undefined || story.deleted === null || story.outcome?.fact.exit?.lost === 'host-lost') return;
  if (binding.at.seq < story.deleted.seq && story.deleted.seq < at.seq)
    findings.prove('I45', story.allocation.id, `it was released while it still held ${place}`, [
      binding.at,
      story.deleted,
      at,
    ]);
}

function allocationOf(attempt: string): string {
  return parseAttemptName(attempt)?.allocation ?? '';
}

function checkBound(
  { attempt, what, name }: HostFact & { readonly kind: 'bound' },
  bound: { readonly place: string; readonly at: Stamp; readonly holder: Binding | undefined },
  run: RunIndex,
  findings: Findings,
): void {
  const { place, at, holder } = bound;
  const id = allocationOf(attempt);
  const story = run.allocations.get(id);
  if (story !== undefined && !isGiven(story.allocation, what, name))
    findings.prove('I47', place, `bound by ${attempt}, to which it was not given`, [story.created, at]);
  // The next attempt of the same allocation takes over what the last one left bound.
  if (holder !== undefined && allocationOf(holder.attempt) !== id)
    findings.prove('I47', place, `bound by ${holder.attempt} and by ${attempt}`, [holder.at, at]);
}

/** Ports are given by number. Of addresses an allocation claims some, and its host chooses which. */
function isGiven({ ports, resources }: Allocation, what: 'port' | 'address', name: string): boolean {
  return what === 'port'
    ? Object.values(ports).some((port) => String(port) === name)
    : (resources.scalars[ADDRESSES] ?? 0) > 0;
}
