import { z } from 'zod';

/** The files of an image archive that say what it is: as `docker save` writes them, and as the OCI layout has them. */

/** Each is a pass over the file system of the image; no image that people make has as many. */
export const IMAGE_LAYERS_MAX = 128;

const BLOB = /^sha256:[0-9a-f]{64}$/;
/** Names of an archive's members, that become paths of ours. */
const member = z.string().regex(/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/);
const descriptor = z.looseObject({ digest: z.string().regex(BLOB) });

const dockerManifest = z
  .array(z.looseObject({ Config: member, Layers: z.array(member).max(IMAGE_LAYERS_MAX) }))
  .min(1);
const ociIndex = z.looseObject({ manifests: z.array(descriptor).min(1) });
const ociManifest = z.looseObject({ config: descriptor, layers: z.array(descriptor).max(IMAGE_LAYERS_MAX) });
const imageConfig = z.looseObject({
  config: z
    .looseObject({
      Env: z.array(z.string()).nullish(),
      WorkingDir: z.string().nullish(),
      User: z.string().nullish(),
    })
    .nullish(),
});

/** Paths of members: the configuration, and the layers from the lowest. */
export interface ImageParts {
  readonly config: string;
  readonly layers: readonly string[];
}

/** What of an image's configuration counts here. */
export interface ImageFacts {
  readonly env: Readonly<Record<string, string>>;
  readonly workingFolder: string;
  readonly uid: number;
  readonly gid: number;
}

/** @returns null when the text is no such manifest */
export function readDockerManifest(text: string): ImageParts | null {
  const [first] = parsed(dockerManifest, text) ?? [];
  return first === undefined ? null : { config: first.Config, layers: first.Layers };
}

/** @returns path of the manifest of the first image; null when the text is no index */
export function readOciIndex(text: string): string | null {
  const [first] = parsed(ociIndex, text)?.manifests ?? [];
  return first === undefined ? null : blobPath(first.digest);
}

export function readOciManifest(text: string): ImageParts | null {
  const found = parsed(ociManifest, text);
  if (found === null) return null;
  return {
    config: blobPath(found.config.digest),
    layers: found.layers.map((layer) => blobPath(layer.digest)),
  };
}

/** @returns a sentence when the image cannot be run by what it says */
export function readImageConfig(text: string): ImageFacts | string {
  const found = parsed(imageConfig, text);
  if (found === null) return 'its configuration cannot be read';
  const { Env, WorkingDir, User } = found.config ?? {};
  const user = /^(?:(\d{1,9})(?::(\d{1,9}))?)?$/.exec(User ?? '');
  if (user === null) return `it runs as user "${User ?? ''}", and only numbers are understood here`;
  const uid = Number(user[1] ?? 0);
  const pairs = (Env ?? []).filter((pair) => pair.includes('='));
  return {
    env: Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    ),
    workingFolder: WorkingDir?.startsWith('/') === true ? WorkingDir : '/',
    uid,
    gid: Number(user[2] ?? uid),
  };
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function parsed<T>(shape: z.ZodType<T>, text: string): T | null {
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
