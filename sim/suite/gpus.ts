import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

/** Of each host: two of a kind and one of another. */
export const DEVICES: readonly string[] = ['T4', 'T4', 'A100'];

/**
 * Three jobs of four ask for devices: whole ones, parts that fill one and parts that do not, several at a time, and those of one model
 * that each host has only one of. Many ask for little else, so that devices are what runs out.
 */
export function asking(request: Request, random: SeededRandom): Request {
  const own = random.split(`gpus ${request.name}`);
  const gpu = [
    ...[1, { share: '500m' }, { share: '700m' }, { count: 2, share: '400m' }],
    ...[{ models: ['A100'] }, { share: '600m', models: ['A100'] }, 2, { share: '250m' }],
  ][own.below(11)];
  if (gpu === undefined) return request;
  const resources = {
    ...(request.file['resources'] as object),
    cpu: own.below(2) === 0 ? '100m' : '300m',
    gpu,
  };
  return { ...request, file: { ...request.file, resources } };
}
