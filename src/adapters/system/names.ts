import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Names } from '../../ports/names.ts';

export const systemNames: Names = {
  async resolve(host) {
    try {
      return (await lookup(host, { all: true })).map(({ address }) => address);
    } catch {
      return [];
    }
  },
  own: () => Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
};
