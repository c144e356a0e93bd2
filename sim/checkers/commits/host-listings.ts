import { isTerminal } from '../../../src/core/host/states.ts';
import type { HostListing } from '../../../src/wire/api/host-api.ts';
import type { Findings } from '../replay/violations.ts';

/** What the history knows of an allocation id. */
export interface CommittedTo {
  hostOf(id: string): string | undefined;
}

/**
 * I13: an allocation lives on one host only, the one to which it was committed. The listings must be older than the end
 * of the history, as they are when the hosts were asked first: a start follows its commit, never the other way.
 *
 * @param wholeHistory false: the beginning is not kept, so an unknown id may have been committed and released before it
 */
export function checkListings(
  listings: readonly HostListing[],
  history: CommittedTo,
  wholeHistory: boolean,
  revision: number,
  findings: Findings,
): void {
  const liveOn = new Map<string, string>();
  for (const { host, allocations } of listings) {
    for (const report of allocations) {
      const wrong = (detail: string): void => findings.add('I13', revision, report.id, detail);
      if (report.host !== host) wrong(`${host} lists it as on ${report.host}`);
      const committed = history.hostOf(report.id);
      if (committed !== undefined && committed !== host) wrong(`it is on ${host}, committed to ${committed}`);
      if (committed === undefined && wholeHistory) wrong(`it is on ${host}, and was never committed`);
      if (isTerminal(report.state)) continue;
      const other = liveOn.get(report.id);
      if (other !== undefined) wrong(`it lives on ${other} and on ${host}`);
      liveOn.set(report.id, host);
    }
  }
}
