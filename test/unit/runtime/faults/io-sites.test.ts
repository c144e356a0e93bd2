import { describe, expect, it } from 'vitest';
import { failPoints, isFailPoint } from '../../../../src/runtime/faults/names.ts';
import { NO_IO, scanIo } from '../../../support/io-scan.ts';
import { listsOf, listText, readList } from '../../../support/io-sites-file.ts';

const scan = scanIo();
const lists = listsOf(scan);

describe('F1 every I/O of every role has a fail-point', () => {
  it('looks at a whole project, not at nothing', () => {
    expect(scan.sites.length).toBeGreaterThan(90);
    expect(scan.methods.length).toBeGreaterThan(30);
    expect(failPoints().length).toBeGreaterThan(380);
  });

  it('every place that does I/O says what it touches: run `npm run fail-points`, then complete the list', () => {
    expect(lists.nameless).toEqual([]);
  });

  it('the list is the one that the sources give: run `npm run fail-points`', () => {
    expect(readList()).toBe(listText(lists));
  });

  it('every interface of the ports is known: one that does I/O is wrapped by armed.ts', () => {
    expect(scan.unknownPorts).toEqual([]);
  });

  it('no method of a port is handed on instead of called, where the scan would miss it', () => {
    expect(scan.hidden).toEqual([]);
  });

  it('every role, port and method that is called has names', () => {
    const named = new Set(failPoints().map((name) => name.split('/').slice(0, 2).join('/')));
    const silent = scan.sites
      .filter(({ io }) => !NO_IO.has(io))
      .flatMap(({ at, io, roles }) => roles.map((role) => ({ at, name: `${role}/${io}` })))
      .filter(({ at, name }) => !named.has(name) && !comesNever(at, name));
    expect(silent).toEqual([]);
    expect(isFailPoint('scheduler/store.attempt/allocs+ledger:after')).toBe(true);
  });
});

/** Some roles load a file of which they use another part. */
function comesNever(at: string, name: string): boolean {
  const [role = '', io] = name.split('/');
  const site = lists.sites.find((one) => one.at === at && one.io === io);
  return (Object.entries(site?.subjects ?? {}).find(([key]) => key === role)?.[1] ?? ['?']).length === 0;
}
