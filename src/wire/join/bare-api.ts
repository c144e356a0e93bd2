/**
 * What a machine answers that waits to be made a part of a cell, to whoever shows its token.
 *
 *   POST /v1/keys    KeysRequest → BareMachine; makes the keys that are not there yet
 *   POST /v1/adopt   AdoptRequest → 204; the machine is an agent of the cell from then on
 */
export interface KeysRequest {
  /** Who will have a key there: `<role>-<id>`. */
  readonly holders: readonly string[];
}

export interface BareMachine {
  /** By holder, as PEM. */
  readonly publicKeys: Readonly<Record<string, string>>;
  /** How this program is started there. */
  readonly program: readonly string[];
  /** An etcd to run; null: there is none. */
  readonly etcd: string | null;
  /** The agent's folder, as an absolute path. */
  readonly data: string;
}

export interface AdoptRequest {
  /** Of the agent first, then of each other holder: the text of a bundle. */
  readonly bundles: readonly string[];
  readonly allow: readonly string[];
  /** Where arbiters will run: the key that signs tickets. */
  readonly arbiterSecret: string | null;
}
