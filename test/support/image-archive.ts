import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const APPLETS = ['sh', 'cat', 'echo', 'grep', 'id', 'ls', 'sleep', 'touch', 'true', 'hostname', 'wc', 'env'];

/**
 * An image of busybox, in two layers: the upper one takes `/gone` away.
 * @param programs further ones for its `/bin`: static files of this machine
 * @param user as which it runs; empty: root
 * @param applets further ones of busybox
 * @returns the archive's bytes
 */
export function busyboxImage(
  folder: string,
  kind: 'docker' | 'oci',
  programs: readonly string[] = [],
  user = '',
  applets: readonly string[] = [],
): Buffer {
  const [lower, upper, layout] = ['lower', 'upper', 'layout'].map((name) => join(folder, kind, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(join(lower, 'bin'), { recursive: true });
  copyFileSync('/bin/busybox', join(lower, 'bin', 'busybox'));
  for (const path of programs) copyFileSync(path, join(lower, 'bin', basename(path)));
  for (const name of [...APPLETS, ...applets]) symlinkSync('busybox', join(lower, 'bin', name));
  writeFileSync(join(lower, 'gone'), 'still here\n');
  // Whoever follows it on the host leaves the image.
  symlinkSync('/tmp', join(lower, 'trap'));
  mkdirSync(join(upper, 'etc'), { recursive: true });
  writeFileSync(join(upper, '.wh.gone'), '');
  writeFileSync(join(upper, 'etc', 'motd'), 'two layers\n');
  mkdirSync(layout);
  const layers = [lower, upper].map((layer) => tar(layer, ['.']));
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: { Env: ['PATH=/bin', 'GREETING=hello'], User: user },
    }),
  );
  if (kind === 'docker') {
    writeFileSync(join(layout, 'config.json'), config);
    layers.forEach((bytes, index) => writeFileSync(join(layout, `${String(index)}.tar`), bytes));
    writeFileSync(
      join(layout, 'manifest.json'),
      JSON.stringify([{ Config: 'config.json', Layers: layers.map((_, index) => `${String(index)}.tar`) }]),
    );
  } else {
    const blob = (bytes: Buffer): { digest: string; size: number } => {
      const hex = createHash('sha256').update(bytes).digest('hex');
      mkdirSync(join(layout, 'blobs', 'sha256'), { recursive: true });
      writeFileSync(join(layout, 'blobs', 'sha256', hex), bytes);
      return { digest: `sha256:${hex}`, size: bytes.length };
    };
    const manifest = Buffer.from(JSON.stringify({ config: blob(config), layers: layers.map(blob) }));
    writeFileSync(join(layout, 'index.json'), JSON.stringify({ manifests: [blob(manifest)] }));
  }
  return tar(layout, ['.']);
}

function tar(folder: string, names: readonly string[]): Buffer {
  const file = `${folder}.tar`;
  const done = spawnSync('tar', ['-C', folder, '-cf', file, ...names], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
  return readFileSync(file);
}
