import { describe, expect, it } from 'vitest';
import { attributeOf, meets, plainAttribute } from '../../../../src/core/host/attributes.ts';
import { amounts, expr, makeHost } from '../placement/placement-fixtures.ts';

const host = makeHost('host-1', {
  capacity: amounts(96_000, 262_144, 1000),
  gpuModels: ['T4', 'A10', 'T4'],
  attributes: { os: 'linux', zone: 'z1', cores: '8', id: 'somebody-else', version: '5.10' },
});

describe('attributeOf', () => {
  it('derives from the capacity and does not let a host claim to be another', () => {
    const derived = ['id', 'cpu', 'memory', 'disk', 'gpus', 'gpuModel'].map((name) =>
      attributeOf(host, name),
    );
    expect(derived).toEqual(['host-1', '96000', '262144', '1000', '3', 'A10,T4']);
  });

  it('reads names with and without the prefix, and nothing from the prototype', () => {
    expect(attributeOf(host, 'host.zone')).toBe('z1');
    expect(plainAttribute('host')).toBe('id');
    expect(attributeOf(host, 'constructor')).toBeUndefined();
    expect(attributeOf(makeHost('plain'), 'gpuModel')).toBeUndefined();
  });
});

describe('meets', () => {
  it.each([
    [expr('os', '==', 'linux'), true],
    [expr('os', '==', 'bsd'), false],
    [expr('rack', '==', ''), false],
    [expr('rack', '!=', 'r1'), true],
    [expr('zone', '!=', 'z1'), false],
    [expr('zone', 'in', 'z0, z1'), true],
    [expr('rack', 'in', 'r1'), false],
    [expr('zone', 'exists'), true],
    [expr('rack', 'exists'), false],
    [expr('memory', '>=', '262144'), true],
    [expr('memory', '>', '262144'), false],
    [expr('cores', '<', '10'), true],
    [expr('cores', '<=', '7'), false],
    [expr('version', '>', '5'), false],
    [expr('rack', '<', '5'), false],
  ])('%j is %s', (expression, met) => {
    expect(meets(host, expression)).toBe(met);
  });
});
