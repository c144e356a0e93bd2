import type { VolumeStatus } from '../../src/wire/api/volume-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import type { Column } from '../output/table.ts';
import { printList } from '../output/output.ts';

const EMPTY = 'there are no volumes; a job makes its own: volumes and mounts in its file';

function columns(isAll: boolean): readonly Column<VolumeStatus>[] {
  return [
    ...(isAll ? [{ title: 'NAMESPACE', cell: ({ namespace }: VolumeStatus) => namespace }] : []),
    { title: 'NAME', cell: ({ claim }) => claim },
    { title: 'SCOPE', cell: ({ driver }) => (driver === undefined ? 'local' : `global (${driver})`) },
    { title: 'HOST', cell: hostOf },
    { title: 'STATE', cell: stateOf },
    {
      title: 'ACCESS',
      cell: ({ access, source }) => `${access}${source === undefined ? '' : ` of ${source}`}`,
    },
    { title: 'JOB', cell: ({ job }) => job },
  ];
}

/** Where it lies, or is attached; of scope `global` it is nowhere while nobody has it. */
function hostOf({ driver, host, holders, isThere, fenced }: VolumeStatus): string {
  if (driver !== undefined && holders.length === 0) return fenced === true ? `(not detached: ${host})` : '-';
  return `${host}${isThere ? '' : ' (away)'}`;
}

function stateOf({ isDeleting, holders }: VolumeStatus): string {
  if (isDeleting) return 'being deleted';
  return holders.length === 0 ? 'unused' : `used by ${String(holders.length)}`;
}

export async function listVolumes(context: Context, isAll: boolean): Promise<number> {
  const answer = await (await context.api()).volumes(isAll ? undefined : context.namespace);
  await printList<VolumeStatus>(context, {
    ...{ answer, rows: answer.volumes, columns: columns(isAll), nameOf: ({ claim }) => claim, empty: EMPTY },
  });
  return EXIT.ok;
}

/** One volume, with who has it and what was left of it. */
export async function volumeStatus(context: Context, claim: string): Promise<number> {
  const { volumes } = await (await context.api()).volumes(context.namespace);
  const answer = volumes.find((one) => one.claim === claim);
  if (answer === undefined)
    throw new CliError(
      EXIT.usage,
      `namespace ${context.namespace} has no volume ${claim}`,
      'moorage volume list',
    );
  const more: readonly Column<VolumeStatus>[] = [
    { title: 'HOLDERS', cell: ({ holders }) => holders.join(', ') },
    { title: 'LEFT ON', cell: ({ left }) => left.map(({ host }) => host).join(', ') },
  ];
  await printList<VolumeStatus>(context, {
    ...{ answer, rows: [answer], columns: [...columns(false), ...more] },
    ...{ nameOf: ({ claim: name }: VolumeStatus) => name, empty: EMPTY },
  });
  return EXIT.ok;
}

/** @param lost data on a host that does not answer is given up */
export async function deleteVolume(context: Context, claim: string, lost: boolean): Promise<number> {
  await (await context.api()).deleteVolume({ namespace: context.namespace, claim, lost });
  context.terminal.out(`${claim}\n`);
  return EXIT.ok;
}
