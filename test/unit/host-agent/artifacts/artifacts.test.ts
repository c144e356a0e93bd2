import { describe, expect, it } from 'vitest';
import { ArtifactCache } from '../../../../host-agent/artifacts/artifacts.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { silentLog, silentMetrics } from '../../../../src/adapters/telemetry/silent.ts';
import type { Artifact } from '../../../../src/core/cell/job.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { ArtifactSource } from '../../../../src/ports/artifacts.ts';
import { FetchError } from '../../../../src/ports/artifacts.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

/** Texts by their source; each fetch waits until it is let go. */
class Registry implements ArtifactSource {
  readonly fetches: string[] = [];
  readonly texts = new Map<string, string>();
  readonly #disk: MemoryDisk;
  fault: FetchError | null = null;
  held: (() => void)[] | null = null;
  atOnce = 0;
  atOnceMax = 0;

  constructor(disk: MemoryDisk) {
    this.#disk = disk;
  }

  async fetch(source: string, into: string, options: { readonly bytesMax: number }) {
    this.fetches.push(source);
    this.atOnce += 1;
    this.atOnceMax = Math.max(this.atOnceMax, this.atOnce);
    try {
      const { held } = this;
      if (held !== null) await new Promise<void>((go) => held.push(go));
      if (this.fault !== null) throw this.fault;
      const text = this.texts.get(source) ?? '';
      if (text.length > options.bytesMax) throw new FetchError('full', 'too large');
      await this.#disk.publish(into, text);
      return { sha256: sha256Hex(text), bytes: text.length };
    } finally {
      this.atOnce -= 1;
    }
  }
}

function world(bytesMax = 1_000) {
  const disk = new MemoryDisk();
  const clock = new ManualClock();
  const registry = new Registry(disk);
  const ports = { disk, clock, random: seededRandom(1), log: silentLog, metrics: silentMetrics };
  const cache = new ArtifactCache(ports, registry, bytesMax);
  const artifact = (name: string, bytes = 100): Artifact => {
    const source = `https://files.example/${name}`;
    const text = name.padEnd(bytes, '.');
    registry.texts.set(source, text);
    return { source, sha256: sha256Hex(text), unpack: false };
  };
  return { disk, clock, registry, ports, cache, artifact };
}

describe('artifacts by the hash of their bytes', () => {
  it('are fetched once, however many ask at once and later, and from wherever', async () => {
    const { cache, registry, artifact } = world();
    const a = artifact('a');
    await Promise.all([
      cache.ensure(a),
      cache.ensure(a),
      cache.ensure({ ...a, source: 'https://mirror.example/a' }),
    ]);
    await cache.ensure(a);
    expect(registry.fetches).toHaveLength(1);
  });

  it('S3.37 what is here needs no source, also after a restart of the agent', async () => {
    const { cache, registry, ports, artifact } = world();
    const a = artifact('a');
    await cache.ensure(a);
    registry.fault = new FetchError('unreachable', 'registry down');
    const next = new ArtifactCache(ports, registry, 1_000);
    await next.open();
    await next.ensure(a);
    expect(registry.fetches).toHaveLength(1);
  });

  it('other bytes than the job names are thrown away', async () => {
    const { cache, disk, artifact } = world();
    const a = { ...artifact('a'), sha256: '0'.repeat(64) };
    await expect(cache.ensure(a)).rejects.toThrow(/has SHA-256 [0-9a-f]{64}, and not 0{64}/);
    expect([await disk.list('cas/sha256'), await disk.list('cas/tmp')]).toEqual([[], []]);
  });

  it('a source that is away is asked again, a few times', async () => {
    const { cache, clock, registry, artifact } = world();
    registry.fault = new FetchError('unreachable', 'registry down');
    const failed = expect(cache.ensure(artifact('a'))).rejects.toThrow('registry down');
    await clock.advance(60_000);
    await failed;
    expect(registry.fetches).toHaveLength(4);
    registry.fault = null;
    await cache.ensure(artifact('a'));
    expect(registry.fetches).toHaveLength(5);
  });

  it('a source that refuses is not asked again', async () => {
    const { cache, registry, artifact } = world();
    registry.fault = new FetchError('refused', 'answered 404');
    await expect(cache.ensure(artifact('a'))).rejects.toThrow('answered 404');
    expect(registry.fetches).toHaveLength(1);
  });

  it('S3.35 fetches at once are bounded, and all of them come', async () => {
    const { cache, registry, artifact } = world();
    const held: (() => void)[] = [];
    registry.held = held;
    const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => cache.ensure(artifact(name))));
    let let_go = 0;
    while (let_go < 5) {
      const go = held.shift();
      if (go === undefined) await new Promise((next) => setImmediate(next));
      else {
        go();
        let_go += 1;
      }
    }
    await all;
    expect(registry.atOnceMax).toBe(2);
  });

  it('make room by giving up what was used longest ago', async () => {
    const { cache, disk, artifact } = world(250);
    const [a, b, c] = [artifact('a'), artifact('b'), artifact('c')];
    await cache.ensure(a);
    await cache.ensure(b);
    await cache.ensure(a);
    await cache.ensure(c);
    expect([cache.has(a.sha256), cache.has(b.sha256), cache.has(c.sha256)]).toEqual([true, false, true]);
    expect((await disk.list('cas/sha256')).length).toBe(2);
  });

  it('never give up what a task uses: then there is no room, and that is said', async () => {
    const { cache, artifact } = world(250);
    const [a, b, c] = [artifact('a'), artifact('b'), artifact('c')];
    cache.pin('one', [a.sha256]);
    cache.pin('two', [b.sha256]);
    await cache.ensure(a);
    await cache.ensure(b);
    await expect(cache.ensure(c)).rejects.toMatchObject({ code: 'full' });
    cache.unpin('one');
    await cache.ensure(c);
    expect([cache.has(a.sha256), cache.has(b.sha256)]).toEqual([false, true]);
  });

  it('what an earlier agent had not finished is thrown away', async () => {
    const { cache, disk } = world();
    await disk.publish('cas/tmp/half', 'bytes');
    await cache.open();
    expect(await disk.list('cas/tmp')).toEqual([]);
  });
});
