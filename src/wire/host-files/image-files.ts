import { z } from 'zod';

/** The manifests of an image archive, as `docker save` and the OCI layout have them. */

/** Each layer is a pass over the image's file system; no real image has as many. */
export const IMAGE_LAYERS_MAX = 128;

const BLOB = /^sha256:[0-9a-f]{64}$/;
/** Names of an archive's members, which become paths in the state folder. */
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

/** The part of an image's configuration that is used here. */
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

/** @returns a sentence when the image cannot be run */
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
