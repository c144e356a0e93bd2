import type { Endpoint } from '../../src/core/names/endpoints.ts';

/** Of instance `index`, on a host of its own. */
export function endpoint(index: number, more: Partial<Endpoint> = {}): Endpoint {
  const name = String(index);
  return {
    ...{
      allocation: `a${name}`,
      host: `h${name}`,
      index,
      jobVersion: 1,
      address: '10.0.0.1',
      port: 8000 + index,
    },
    ...more,
  };
}
