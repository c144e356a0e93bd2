import type { SimJob } from '../../../sim/omega/workload/workload.ts';
import { ANY_HOST } from '../../../sim/omega/workload/workload.ts';
import { CliError, EXIT } from '../../command/exit.ts';
import { readCsv, wholeIn } from '../../openb/csv.ts';
import { readPods } from '../../openb/openb.ts';

/**
 * The pods of an openb list as jobs of one task, with their times of creation and for as long as they ran.
 * Latency-sensitive and guaranteed ones are services.
 *
 * @throws CliError when the list has no times, as some have not
 */
export function readOpenbJobs(text: string, file: string): SimJob[] {
  const rows = readCsv(text, file);
  if (rows[0] !== undefined && rows[0]('creation_time') === '')
    throw new CliError(EXIT.badSpec, `${file} has no times: choose a list that has`, '--list default');
  return readPods(text, file).map((pod, id) => {
    const row = rows[id]!;
    const line = id + 2;
    const created = wholeIn(row, 'creation_time', file, line);
    const begun = row('scheduled_time') === '' ? created : wholeIn(row, 'scheduled_time', file, line);
    const ended = wholeIn(row, 'deletion_time', file, line);
    const gpu = pod.gpus === 0 ? null : { count: pod.gpus, milliEach: pod.gpuMilliEach, models: pod.models };
    return {
      ...{ id, tasks: 1, gang: false, hostGroups: ANY_HOST },
      work: ['LS', 'Guaranteed'].includes(row('qos')) ? 'service' : 'batch',
      submitSeconds: created,
      runtimeSeconds: Math.max(1, ended - begun),
      shape: { cpuMilli: pod.cpuMilli, memoryMib: pod.memoryMib, gpu },
    };
  });
}
