import { describe, expect, it } from 'vitest';
import {
  readDockerManifest,
  readImageConfig,
  readOciIndex,
  readOciManifest,
} from '../../../../src/wire/host-files/image-files.ts';

const HEX = 'a'.repeat(64);

describe('what an image archive says of itself', () => {
  it('docker save names its members', () => {
    const text = JSON.stringify([
      { Config: 'c.json', RepoTags: ['a:1'], Layers: ['1/layer.tar', '2/layer.tar'] },
    ]);
    expect(readDockerManifest(text)).toEqual({ config: 'c.json', layers: ['1/layer.tar', '2/layer.tar'] });
  });

  it.each(['../x', '/etc/passwd', 'a/../../b', '', '-rf'])('no member is called %s', (name) => {
    expect(readDockerManifest(JSON.stringify([{ Config: 'c.json', Layers: [name] }]))).toBeNull();
  });

  it('an OCI layout names blobs by their digests, and nothing else', () => {
    expect(readOciIndex(JSON.stringify({ manifests: [{ digest: `sha256:${HEX}` }] }))).toBe(
      `blobs/sha256/${HEX}`,
    );
    expect(readOciIndex(JSON.stringify({ manifests: [{ digest: 'sha256:../../x' }] }))).toBeNull();
    const manifest = { config: { digest: `sha256:${HEX}` }, layers: [{ digest: `sha256:${HEX}` }] };
    expect(readOciManifest(JSON.stringify(manifest))).toEqual({
      config: `blobs/sha256/${HEX}`,
      layers: [`blobs/sha256/${HEX}`],
    });
  });

  it('environment, working folder and a numeric user count', () => {
    const config = { Env: ['PATH=/bin', 'A=b=c', 'broken'], WorkingDir: '/app', User: '1000:2000' };
    expect(readImageConfig(JSON.stringify({ config }))).toEqual({
      ...{ env: { PATH: '/bin', A: 'b=c' }, workingFolder: '/app', uid: 1000, gid: 2000 },
    });
    expect(readImageConfig('{}')).toEqual({ env: {}, workingFolder: '/', uid: 0, gid: 0 });
    expect(readImageConfig(JSON.stringify({ config: { User: 'app' } }))).toContain('user "app"');
  });

  it.each(['', 'no json', '[]', '{"config":7}'])('text %j is none of them', (text) => {
    expect([readDockerManifest(text), readOciIndex(text), readOciManifest(text)]).toEqual([null, null, null]);
    if (text !== '[]') expect(readImageConfig(text)).toBe('its configuration cannot be read');
  });
});
