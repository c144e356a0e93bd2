/**
 * The largest values in a job file. Each keeps one mistake, or one person, from filling the cell's store or overflowing a
 * counter; all are far above what the traces in use ask for.
 */

/** The store holds a job in one value, and a value may have 64 KiB; the rest is for the record around it. */
export const JOB_TEXT_BYTES_MAX = 60 * 1024;
/** Nesting of a canonical job is 8; deeper text is an attack on the parser. */
export const JOB_DEPTH_MAX = 16;
export const JOB_KEYS_MAX = 512;
/** Resolved aliases of a YAML text: a few anchors help, a bomb of them does not. */
export const YAML_ALIASES_MAX = 50;

export const GROUPS_MAX = 16;
export const TASKS_MAX = 16;
/** Allocations of one group. The cell is built for a million of them in all. */
export const COUNT_MAX = 100_000;
/** Members of a gang: one decision places all of them, and every ticket must still be valid at the last commit. */
export const GANG_COUNT_MAX = 10_000;
export const PRECEDENCE_MAX = 100;
/** Hosts that a question after what would be may name or add. */
export const PLAN_HOSTS_MAX = 10_000;
/** Moves in one answer, and those asked for with one request. */
export const MOVES_MAX = 1_000;
export const LABELS_MAX = 32;
export const PORTS_MAX = 16;
export const CONSTRAINTS_MAX = 32;
export const ATTRIBUTES_MAX = 8;
/** Values of one attribute that a spread names. */
export const SPREAD_TARGETS_MAX = 64;
export const WEIGHT_MAX = 100;
export const MODELS_MAX = 16;
/** Health checks of one task: each is tried again and again. */
export const CHECKS_MAX = 8;
export const CHECK_INTERVAL_MS_MIN = 100;
export const CHECK_TIMEOUT_MS_MAX = 60_000;
export const CHECK_THRESHOLD_MAX = 100;
export const CHECK_PATH_PATTERN = /^\/[!-~]*$/;
/** One name, without folders: nothing outside of the task's own is looked at. */
export const CHECK_FILE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names that one task uses: each is followed by its host. */
export const ENDPOINTS_MAX = 16;
/** Each is a fetch before the start. */
export const ARTIFACTS_MAX = 16;
export const VOLUMES_MAX = 8;
/** Where a task finds a volume: no step of it is `.` or `..`. */
export const MOUNT_PATTERN = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,63}){1,8}$/;
export const SOURCE_BYTES_MAX = 1024;
export const SOURCE_PATTERN = /^(?:https?:\/\/|file:\/\/\/)[^\s]+$/;
export const SHA256_PATTERN = /^[0-9a-f]{64}$/;
export const SCALARS_MAX = 16;
/** Classes of interference that one group avoids. */
export const AVOID_MAX = 8;
/** Classes that one group is near: a search tells hosts apart by which of them they have. */
export const NEAR_MAX = 4;
/** Of a whole group: each of its tasks, its volumes and its neighbours may ask for some. */
export const CLAIM_SCALARS_MAX = 64;
export const SCALAR_AMOUNT_MAX = 1_000_000_000;
/** Of one cell: each is one more record that a transaction may have to compare. */
export const SHARED_RESOURCES_MAX = 16;
/** A resource's name, a slash, and the value of a host attribute. */
export const POOL_NAME_BYTES_MAX = 63 + 1 + 256;
/** Of one cell. Each arbiter keeps them all, and one answer lists them. */
export const QUOTAS_MAX = 1_024;
/** Of a quota: a thousand times what a cell of 100,000 hosts has, and sums of it stay exact. */
export const QUOTA_AMOUNT_MAX = 1_000_000_000_000;
export const ATTEMPTS_MAX = 1_000;

/** 1,024 cores and 64 TiB: more than any host has. */
export const CPU_MILLI_MAX = 1_024_000;
export const MEMORY_MIB_MAX = 64 * 1024 * 1024;
/** 1 PiB. */
export const DISK_MIB_MAX = 1024 * 1024 * 1024;
export const GPU_COUNT_MAX = 64;
/** The kernel's own bound on all processes of a machine, on 64 bits. */
export const PIDS_MAX = 4 * 1024 * 1024;
/**
 * Above this a bare number of cores is refused as a slip: people who write `500` nearly always mean millicores. 96 cores are
 * written `96000m`.
 */
export const CPU_CORES_PLAIN_MAX = 64;

/** A host renews the disconnect deadline of its shims every few seconds, and may miss two renewals without harm. */
export const DISCONNECT_MS_MIN = 15_000;
/** A stopped allocation keeps its place meanwhile. */
export const SHUTDOWN_DELAY_MS_MAX = 600_000;
/** A Node timer holds at most 2^31 - 1 ms, 24.8 days, and fires at once when given more. */
export const DURATION_MS_MAX = 24 * 24 * 3600 * 1000;

/** The kernel allows 131,071 bytes an argument; the store holds them all. */
export const ARGS_MAX = 64;
export const ARG_BYTES_MAX = 4 * 1024;
export const ENV_MAX = 128;
export const ENV_BYTES_MAX = 32 * 1024;
export const TEXT_BYTES_MAX = 256;
