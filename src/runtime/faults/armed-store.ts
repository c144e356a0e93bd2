import type {
  Attempt,
  AttemptReply,
  CellStore,
  Follower,
  Following,
  Session,
} from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { FailPoints, FaultOf } from './faults.ts';
import { around, aroundEach, Deliveries } from './faults.ts';
import { subjectOfAttempt, subjectOfKeys } from './subjects.ts';

const unavailable: FaultOf = (when, name) =>
  new StoreError('unavailable', `fail-point ${name}:${when}`, { retryable: true });

/** A store whose I/Os have fail-points. What its port cannot say by throwing is said as the port says it. */
export function armedStore(port: string, points: FailPoints, store: CellStore): CellStore {
  /** Sessions are wrapped too, and the store knows only its own. */
  const inner = new WeakMap<Session, Session>();
  const one = <T>(method: string, subject: string, go: () => Promise<T>): Promise<T> =>
    around(points, `${port}.${method}/${subject}`, unavailable, go);
  return {
    // The limits may change when the store has answered.
    get limits() {
      return store.limits;
    },
    read: (keys) => one('read', subjectOfKeys(keys), () => store.read(keys)),
    list: (prefix, at) => one('list', subjectOfKeys([prefix]), () => store.list(prefix, at)),
    listMany: (prefixes) => one('listMany', subjectOfKeys(prefixes), () => store.listMany(prefixes)),
    attempt: (attempt) =>
      armedAttempt(port, points, attempt, () => store.attempt(withInnerSessions(attempt, inner))),
    follow: (prefix, follower) => armedFollow(port, points, store, prefix, follower),
    openSession: async (options) => {
      const session = await one('openSession', 'session', () => store.openSession(options));
      const wrapped = armedSession(port, points, session);
      inner.set(wrapped, session);
      return wrapped;
    },
    history: (prefix, from) =>
      aroundEach(
        points,
        `${port}.history/${subjectOfKeys([prefix])}`,
        unavailable,
        store.history(prefix, from),
      ),
    oldestRevision: () => one('oldestRevision', 'cell', () => store.oldestRevision()),
    close: () => one('close', 'cell', () => store.close()),
  };
}

function withInnerSessions(attempt: Attempt, inner: WeakMap<Session, Session>): Attempt {
  const writes = attempt.writes.map((write) => {
    if (write.kind === 'delete' || write.session === undefined) return write;
    return { ...write, session: inner.get(write.session) ?? write.session };
  });
  return { ...attempt, writes };
}

/** An attempt that fails after it was made has an unknown outcome, and that is a value. */
async function armedAttempt(
  port: string,
  points: FailPoints,
  attempt: Attempt,
  go: () => Promise<AttemptReply>,
): Promise<AttemptReply> {
  let isLost = false;
  const name = `${port}.attempt/${subjectOfAttempt(attempt)}`;
  const fault: FaultOf = (when) => {
    isLost = when === 'after';
    return unavailable(when, name);
  };
  try {
    return await around(points, name, fault, go);
  } catch (error) {
    if (isLost && error instanceof Error) return { outcome: 'unknown', cause: error };
    throw error;
  }
}

function armedSession(port: string, points: FailPoints, session: Session): Session {
  return {
    id: session.id,
    lost: session.lost,
    get renewedAtMs() {
      return session.renewedAtMs;
    },
    close: () => around(points, `${port}.closeSession/session`, unavailable, () => session.close()),
  };
}

/** A delivery of a follow that fails is followed by a new snapshot, as after a cut connection. */
function armedFollow(
  port: string,
  points: FailPoints,
  store: CellStore,
  prefix: string,
  follower: Follower,
): Following {
  const name = `${port}.follow/${subjectOfKeys([prefix])}`;
  let settle: { resolve(): void; reject(error: Error): void } = {
    resolve: () => undefined,
    reject: () => undefined,
  };
  const ready = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  // A rejection that no caller awaits is no fault.
  ready.catch(() => undefined);
  let isClosed = false;
  let close = (): void => undefined;
  const open = (): void => {
    const deliveries = new Deliveries(points, name);
    const again = (): void => {
      close();
      if (!isClosed) open();
    };
    const following = store.follow(prefix, {
      onSnapshot: (snapshot) =>
        deliveries.give(() => {
          follower.onSnapshot(snapshot);
          settle.resolve();
        }, again),
      onChanges: (changes, revision) => deliveries.give(() => follower.onChanges(changes, revision), again),
      ...(follower.knows === undefined
        ? null
        : { knows: (revision: number) => follower.knows?.(revision) === true }),
    });
    following.ready.catch((error: unknown) => {
      if (isClosed && error instanceof Error) settle.reject(error);
    });
    close = () => {
      deliveries.end();
      following.close();
    };
  };
  open();
  return {
    ready,
    close: () => {
      isClosed = true;
      close();
      settle.reject(new StoreError('closed', `the following of ${prefix} was closed`, { retryable: false }));
    },
  };
}
